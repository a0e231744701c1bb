import type { Caller } from '../access/caller.ts';
import { AppError, notFound } from '../platform/errors.ts';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import { freeMemory } from '../platform/free-memory.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { JsonWriter } from '../printing/json-writer.ts';
import { writeEmbeddingItems } from '../printing/print-floats.ts';
import { type BulkContext, findBulkJob } from './bulk.ts';
import { resultNotReady } from './bulk-jobs.ts';
import { chunkKey } from './object-keys.ts';
import { objectDamaged, readRange } from './read-range.ts';
import { crcsOfRows, rowBytesOf } from './result-chunk.ts';
import type { ResultQuery } from './schema.ts';
import { type BulkJob, type PageChunk, selectPageChunks } from './store.ts';

/** Floats to print before yielding to the event loop, about 1 ms. */
const FLOATS_PER_SLICE = 40_000;
const ITEM_TEXT_BYTES = 64;

type ResultContext = Pick<BulkContext, 'sql' | 'objects' | 'retentionMs'>;

/** Consecutive vectors of a result. */
export interface ResultRows {
  /** Index of the first vector within the whole result. */
  readonly index: number;
  /** Float32Array [n x dimensions], row-major. */
  readonly vectors: Float32Array;
}

/**
 * Find a job with readable results.
 * @throws AppError `job_not_found` (404); `result_not_found` (404) after its retention; `result_not_ready` (409)
 */
export async function findReadyJob({ sql, retentionMs }: ResultContext, caller: Caller, id: string): Promise<BulkJob> {
  const job = await findBulkJob(sql, caller.orgId, id);
  if (job.status !== 'ready') throw resultNotReady(job);
  const endedMs = job.completedAt?.getTime() ?? 0;
  if (job.isSwept || endedMs < Date.now() - retentionMs) throw notFound('result', id);
  return job;
}

/**
 * Render a page of results as the body of `GET …/result` (contract 4.7). Read only the rows of the page, and check
 * each. Yield to other requests while printing.
 * @throws AppError as `findReadyJob`; `result_not_found` (404) if the files are gone, `object_damaged` (500)
 */
export async function renderResultPage(
  context: ResultContext,
  caller: Caller,
  jobId: string,
  { offset, limit }: ResultQuery,
): Promise<Buffer> {
  const job = await findReadyJob(context, caller, jobId);
  const { vectorDimensions: dimensions, inputCount: total } = job;
  const returned = Math.max(0, Math.min(limit, total - offset));
  const writer = new JsonWriter({ floats: returned * dimensions, textBytes: returned * ITEM_TEXT_BYTES + 1024 });
  writer.text('{"object":"list","data":[');
  const rowsPerSlice = Math.max(1, Math.floor(FLOATS_PER_SLICE / dimensions));
  for (const reading of await startReading(context, job, offset, returned)) {
    const { index, vectors } = await reading;
    for (let from = 0; from < vectors.length; from += rowsPerSlice * dimensions) {
      await yieldToEventLoop();
      const first = index + from / dimensions;
      if (first > offset) writer.text(',');
      writeEmbeddingItems(writer, vectors.subarray(from, from + rowsPerSlice * dimensions), dimensions, {
        firstIndex: first,
      });
    }
    freeMemory(vectors);
  }
  const tail = {
    model: job.resultModel ?? job.model,
    dimensions,
    usage: { count: total },
    pagination: { offset, limit, returned, total, has_more: offset + returned < total },
  };
  writer.text(`],${JSON.stringify(tail).slice(1)}`);
  return writer.finish();
}

/** Read the rows of a result in order. @throws AppError as `renderResultPage` */
export async function* readResult(
  context: Pick<BulkContext, 'sql' | 'objects'>,
  job: BulkJob,
  from = 0,
  count = job.inputCount,
): AsyncGenerator<ResultRows> {
  const rowsPerSlice = 10 * job.chunkSize;
  for (let offset = from; offset < from + count; offset += rowsPerSlice) {
    for (const reading of await startReading(context, job, offset, Math.min(rowsPerSlice, from + count - offset))) {
      yield await reading;
    }
  }
}

/** Start all reads of a page concurrently, one per chunk. The caller awaits them in order. */
async function startReading(
  { sql, objects }: { sql: Sql; objects: Objects },
  job: BulkJob,
  offset: number,
  count: number,
): Promise<Promise<ResultRows>[]> {
  if (count <= 0) return [];
  const first = Math.floor(offset / job.chunkSize);
  const last = Math.floor((offset + count - 1) / job.chunkSize);
  const chunks = await selectPageChunks(sql, job.id, first, last);
  if (chunks.length !== last - first + 1) throw notFound('result', job.id);
  return chunks.map((chunk) => {
    const start = chunk.chunk * job.chunkSize;
    const from = Math.max(0, offset - start);
    const to = Math.min(chunk.texts, offset + count - start);
    const reading = readRows(objects, job, chunk, from, to);
    reading.catch(() => undefined); // awaited later, or never if an earlier read fails
    return reading;
  });
}

async function readRows(
  objects: Objects,
  job: BulkJob,
  { chunk, rowCrcs }: PageChunk,
  from: number,
  to: number,
): Promise<ResultRows> {
  const dimensions = job.vectorDimensions;
  const rowBytes = rowBytesOf(dimensions);
  const vectors = new Float32Array((to - from) * dimensions);
  const bytes = new Uint8Array(vectors.buffer);
  const key = chunkKey(job.orgId, job.id, chunk);
  try {
    await readRange(objects, key, from * rowBytes, bytes);
  } catch (error) {
    if (error instanceof AppError && error.code === 'object_not_found') throw notFound('result', job.id);
    throw error;
  }
  for (const [row, crc] of crcsOfRows(bytes, dimensions).entries()) {
    if (crc !== rowCrcs[from + row]) throw objectDamaged(key);
  }
  return { index: chunk * job.chunkSize + from, vectors };
}
