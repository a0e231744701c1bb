import { z } from 'zod';
import { ReembedReply } from '../reindex/reembed-job.ts';

export const SAMPLE_MAX = 5_000;
export const QUERIES_MAX = 200;
const SAMPLE_DEFAULT = 2_000;
const QUERY_CHARS_MAX = 2_000;
const RELEVANT_MAX = 100;

const DocumentName = z.string().min(1).max(500);
const Relevant = z.union([
  z.array(DocumentName).min(1).max(RELEVANT_MAX),
  z
    .record(DocumentName, z.number().positive())
    .refine((gains) => Object.keys(gains).length <= RELEVANT_MAX, `must name ${RELEVANT_MAX} documents at most`),
]);

/** Body of `POST /v1/buckets/{bucket}/rehearsals`. */
export const RehearsalBody = z.object({
  model: z.string().min(1).max(200).describe('the candidate: a model of GET /v1/models'),
  queries: z
    .array(
      z.object({
        query: z.string().min(1).max(QUERY_CHARS_MAX),
        relevant: Relevant.optional().describe('documents that answer it, by file name or id, or the gain of each'),
      }),
    )
    .min(1)
    .max(QUERIES_MAX)
    .optional()
    .describe('default: the judged queries of the bucket, then the most frequent ones (scope users:manage)'),
  sample: z.int().min(100).max(SAMPLE_MAX).default(SAMPLE_DEFAULT).describe('maximum number of chunks to embed'),
  mode: z.enum(['hybrid', 'vector']).default('hybrid').describe('hybrid: fused with keywords, as in searches'),
  dry_run: z.boolean().default(false).describe('only estimate what the rehearsal costs'),
});
export type RehearsalBody = z.output<typeof RehearsalBody>;

const RankedChunk = z.object({
  rank: z.int(),
  other_rank: z.int().nullable().describe('rank by the other model; null: not found'),
  chunk_id: z.string(),
  document_id: z.string(),
  file_name: z.string(),
  text: z.string().describe('start of the chunk'),
  gain: z.number().nullable().describe('gain of the document for the query; null: not judged'),
});
export type RankedChunk = z.output<typeof RankedChunk>;

const Gain = z.object({ before: z.number(), after: z.number() });

export const RehearsedQuery = z.object({
  query: z.string(),
  overlap: z.number().describe('share of the ten best chunks that both models have in common, 0..1'),
  mean_move: z.number().describe('average number of ranks by which the ten best chunks move'),
  ndcg: Gain.nullable().describe('nDCG@10 of the documents; null: the query is not judged'),
  before: z.array(RankedChunk).describe('the best chunks by the present model'),
  after: z.array(RankedChunk).describe('the best chunks by the candidate'),
});
export type RehearsedQuery = z.output<typeof RehearsedQuery>;

/** Response of `POST /v1/buckets/{bucket}/rehearsals`. */
export const Rehearsal = z
  .object({
    bucket_id: z.string(),
    from_model: z.string(),
    model: z.string(),
    mode: z.enum(['hybrid', 'vector']),
    dry_run: z.boolean(),
    sample: z.object({
      documents: z.int().nullable().describe('null: a dry run'),
      chunks: z.int(),
    }),
    queries: z.int(),
    judged: z.int().describe('queries with relevant documents'),
    rehearsal: z
      .object({
        texts: z.int().describe('chunks and queries that the candidate embeds'),
        tokens: z.int(),
        cost: z.number(),
        seconds: z.number().nullable().describe('time of the candidate; null: a dry run'),
      })
      .describe('what the rehearsal used; an estimate in a dry run'),
    whole_bucket: ReembedReply.pick({ documents: true, chunks: true, texts: true, tokens: true, estimated_cost: true })
      .extend({
        estimated_seconds: z.number().nullable().describe('at the speed of the rehearsal; null: a dry run'),
        vector_bytes: z.int().describe('bytes of all vectors of the candidate, in the index and in stored chunks'),
      })
      .describe('estimate of moving the whole bucket'),
    overlap: z.number().nullable().describe('mean over the queries; null: a dry run'),
    mean_move: z.number().nullable(),
    ndcg: Gain.nullable().describe('mean over the judged queries; null: none is judged, or a dry run'),
    results: z.array(RehearsedQuery).describe('by query; empty in a dry run'),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Rehearsal' });
export type Rehearsal = z.output<typeof Rehearsal>;
