import { z } from 'zod';

/** Minimum score of each level, highest first. */
export const LEVELS = [
  { relevance: 'high', min: 0.6 },
  { relevance: 'medium', min: 0.3 },
  { relevance: 'low', min: 0.1 },
  { relevance: 'none', min: 0 },
] as const;

export const Relevance = z
  .enum(['high', 'medium', 'low', 'none'])
  .nullable()
  .describe('level of relevance_score: high from 0.6, medium from 0.3, low from 0.1; null: it cannot be estimated');
export type Relevance = z.output<typeof Relevance>;

export const RelevanceScore = z
  .number()
  .min(0)
  .max(1)
  .nullable()
  .describe(
    'estimated probability that this answers the query, in steps of 0.01; comparable between searches, modes and ' +
      'buckets; null: it cannot be estimated',
  );
export type RelevanceScore = z.output<typeof RelevanceScore>;

/** Relevance of a result or of a response. */
export interface RelevanceFields {
  readonly relevance: Relevance;
  readonly relevance_score: RelevanceScore;
}

/** Add the level to a score. */
export function relevanceOf(score: RelevanceScore): RelevanceFields {
  const level = score === null ? undefined : LEVELS.find(({ min }) => score >= min);
  return { relevance: level?.relevance ?? null, relevance_score: score };
}

/** Return the relevance of a response: that of its most relevant result, or a score of 0 without results. */
export function relevanceOfAnswer(results: readonly Pick<RelevanceFields, 'relevance_score'>[]): RelevanceFields {
  const scores = results.flatMap(({ relevance_score: score }) => score ?? []);
  if (scores.length === 0 && results.length > 0) return relevanceOf(null);
  return relevanceOf(Math.max(0, ...scores));
}
