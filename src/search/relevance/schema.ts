import { z } from 'zod';

export const Relevance = z
  .enum(['high', 'medium', 'low', 'none'])
  .nullable()
  .describe('estimate of how likely this answers the query, whatever else was found; null: it cannot be told');
export type Relevance = z.output<typeof Relevance>;

const LEVELS: readonly Relevance[] = [null, 'none', 'low', 'medium', 'high'];

/** Return the relevance of a whole answer: that of its most relevant result. */
export function relevanceOfAnswer(results: readonly { readonly relevance: Relevance }[]): Relevance {
  if (results.length === 0) return 'none';
  const best = Math.max(...results.map(({ relevance }) => LEVELS.indexOf(relevance)));
  return LEVELS[best] ?? null;
}
