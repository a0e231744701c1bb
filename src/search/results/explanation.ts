import { z } from 'zod';

/** Maximum number of terms shown per result. */
export const TERMS_MAX = 100;
/** Maximum number of words shown per term. */
export const WORDS_MAX = 5;

const leg = {
  rank: z
    .int()
    .nullable()
    .describe('from 1, among the chunks that the caller may see; null if it is not among the candidates of this leg'),
  weight: z
    .number()
    .describe(
      'weight of the leg in the fusion; score fusion multiplies that of the keyword leg by how far its best hit stands out',
    ),
  contribution: z
    .number()
    .describe(
      'part of rrf_score that comes from this leg: weight / (60 + rank), or more for keywords with a clear lead in score. If a model that matches meanings orders the results by score: part of score',
    ),
};

/** Explanation of why a search returned a chunk. */
export const Explanation = z
  .object({
    keyword: z
      .object({
        ...leg,
        terms: z
          .array(
            z.object({
              term: z.string().describe('term in the index, such as the stem of a word'),
              words: z.array(z.string()).describe(`as they are written in the text, at most ${WORDS_MAX}`),
            }),
          )
          .describe(`terms of the query in the text and its headings, at most ${TERMS_MAX}`),
      })
      .nullable()
      .describe('null if this leg was not searched'),
    vector: z.object(leg).nullable().describe('null if this leg was not searched'),
  })
  .meta({ id: 'SearchExplanation' });
export type Explanation = z.output<typeof Explanation>;
