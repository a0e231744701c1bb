import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { ChunkIndex, StoredChunk, TableVersion } from '../../index/chunk-index.ts';
import { graphemeCut } from '../../language/graphemes.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { Threads } from '../../platform/threads.ts';
import { textInteger } from '../../platform/zod-integers.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { findBucketIndex } from '../../search/bucket-index-store.ts';
import { PLANE_ROWS_MAX, type Plane, type PlaneTask } from './project-to-plane.ts';
import { type SampledDocument, sampleDocuments } from './sample-store.ts';

const EXCERPT_CHARS = 160;

export const BucketMapQuery = z.object({
  sample: textInteger(z.int().min(10).max(PLANE_ROWS_MAX).default(500)).describe('maximum number of chunks'),
});

/** Response of `GET /v1/buckets/{bucket}/map`. */
export const BucketMap = z
  .object({
    object: z.literal('bucket_map'),
    bucket_id: z.string(),
    model: z.string().nullable().describe('model of the vectors; null for an empty bucket'),
    space: z.string().nullable(),
    documents: z.int().describe('documents with vectors that the caller may see'),
    explained: z
      .array(z.number().min(0).max(1))
      .length(2)
      .describe('shares of the variance of the sample that the two axes show'),
    points: z.array(
      z.object({
        x: z.number(),
        y: z.number(),
        document_id: z.string(),
        chunk_id: z.string(),
        chunk_index: z.int(),
        file_name: z.string(),
        excerpt: z.string(),
      }),
    ),
  })
  .meta({ id: 'BucketMap' });
export type BucketMap = z.output<typeof BucketMap>;

export interface MapContext {
  readonly sql: Sql;
  readonly chunks: ChunkIndex;
  readonly threads: Threads;
}

type SampledChunk = StoredChunk & { readonly document: SampledDocument };

/**
 * Project a sample of a bucket's chunks that the caller may see onto two dimensions, by principal component analysis of
 * their vectors.
 *
 * @throws AppError `bucket_not_found` (404), `index_unavailable` (503), or the reason of the signal
 */
export async function mapBucket(
  { sql, chunks: index, threads }: MapContext,
  caller: Caller,
  bucketRef: string,
  sampleMax: number,
  signal: AbortSignal,
): Promise<BucketMap> {
  const { bucketId, indexTable } = await findBucketIndex(sql, caller, bucketRef);
  const { documents, all } = await sampleDocuments(sql, caller, bucketId, sampleMax);
  const { chunks, vectors } =
    indexTable === null || documents.length === 0
      ? { chunks: [], vectors: new Float32Array() }
      : await readSample(index, indexTable, documents, sampleMax);
  const { points, explained } = await project(threads, vectors, signal);
  return {
    object: 'bucket_map',
    bucket_id: bucketId,
    model: indexTable?.origin?.model ?? null,
    space: indexTable?.origin?.space ?? null,
    documents: all,
    explained: [...explained],
    points: chunks.map(({ chunkId, chunkIndex, text, document }, i) => ({
      x: points[2 * i] as number,
      y: points[2 * i + 1] as number,
      document_id: document.id,
      chunk_id: chunkId,
      chunk_index: chunkIndex,
      file_name: document.fileName,
      excerpt: text.slice(0, graphemeCut(text, EXCERPT_CHARS)),
    })),
  };
}

interface SampledChunks {
  readonly chunks: readonly SampledChunk[];
  /** Float32Array [n x 1024], row-major, at the start of a buffer of its own. */
  readonly vectors: Float32Array<ArrayBuffer>;
}

/** Read the first chunks of each sampled document, enough to fill the sample. */
async function readSample(
  chunks: ChunkIndex,
  table: TableVersion,
  documents: readonly SampledDocument[],
  chunksMax: number,
): Promise<SampledChunks> {
  const perDocument = Math.max(1, Math.floor(chunksMax / documents.length));
  const byId = new Map(documents.map((document) => [document.id, document]));
  // Leave room for chunks of older generations, which may not be deleted yet.
  const limit = 4 * chunksMax;
  const read = await chunks.readChunks(table, { documentIds: [...byId.keys()], perDocument, limit });
  const sampled: SampledChunk[] = [];
  for (const [row, chunk] of read.chunks.entries()) {
    const document = byId.get(chunk.documentId);
    if (document?.generation !== chunk.generation || sampled.length === chunksMax) continue;
    read.vectors.copyWithin(sampled.length * INDEX_DIMENSIONS, row * INDEX_DIMENSIONS, (row + 1) * INDEX_DIMENSIONS);
    sampled.push({ ...chunk, document });
  }
  return { chunks: sampled, vectors: read.vectors.subarray(0, sampled.length * INDEX_DIMENSIONS) };
}

async function project(threads: Threads, vectors: Float32Array<ArrayBuffer>, signal: AbortSignal): Promise<Plane> {
  if (vectors.length === 0) return { points: new Float64Array(), explained: [0, 0] };
  const task: PlaneTask = { vectors, dimensions: INDEX_DIMENSIONS };
  const module = new URL('./project-to-plane.ts', import.meta.url);
  return threads.run(module, 'projectToPlane', task, { signal, transfer: [vectors.buffer] });
}
