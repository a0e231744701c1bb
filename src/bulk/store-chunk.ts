import type { Lease } from '../jobs/lease.ts';
import { AppError } from '../platform/errors.ts';
import { freeMemory } from '../platform/free-memory.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { textsOf } from './job-facts.ts';
import { chunkKey, chunkOfKey, chunksPrefix } from './object-keys.ts';
import { checkResultChunk, encodeResultChunk, type ResultChunk, type ResultChunkFacts } from './result-chunk.ts';
import type { BulkJob } from './store.ts';

/** A stored chunk is never larger: 100 texts of 4,096 dimensions, and the facts. */
const CHUNK_BYTES_MAX = 16 * 1024 * 1024;

/** What is stored of a chunk of `job`; null where there is nothing, or nothing that can be used for it. */
export async function findStoredChunk(
  objects: Objects,
  job: BulkJob,
  chunk: number,
): Promise<{ bytes: Uint8Array; facts: ResultChunkFacts } | null> {
  try {
    const bytes = await objects.get(chunkKey(job.orgId, job.id, chunk), { maxBytes: CHUNK_BYTES_MAX });
    const facts = checkResultChunk(bytes, { texts: textsOf(job, chunk), dimensions: job.vectorDimensions });
    return facts === null ? null : { bytes, facts };
  } catch (error) {
    if (error instanceof AppError && error.code === 'object_not_found') return null;
    throw error;
  }
}

/**
 * Write a chunk once. Where somebody has written it already, a worker that is gone or that lost the job, theirs is
 * kept, unless it is damaged or of another latent space.
 *
 * @returns the facts of what is stored now
 * @throws LeaseLost where something is stored that only the job's holder may replace
 */
export async function storeChunk(
  objects: Objects,
  lease: Pick<Lease, 'confirm'>,
  job: BulkJob,
  chunk: number,
  result: ResultChunk,
): Promise<ResultChunkFacts> {
  const key = chunkKey(job.orgId, job.id, chunk);
  const { bytes, facts } = encodeResultChunk(result);
  try {
    await objects.put(key, bytes, { ifAbsent: true });
    freeMemory(bytes);
    return facts;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'object_exists') throw error;
  }
  const stored = await findStoredChunk(objects, job, chunk);
  if (stored?.facts.space === facts.space) return stored.facts;
  await lease.confirm();
  await objects.put(key, bytes);
  return facts;
}

/** Chunks of which something is stored, whether or not they count. */
export async function listStoredChunks(objects: Objects, job: BulkJob): Promise<number[]> {
  const chunks: number[] = [];
  for await (const { key } of objects.list(chunksPrefix(job.orgId, job.id))) {
    const chunk = chunkOfKey(key);
    if (chunk !== null && textsOf(job, chunk) > 0) chunks.push(chunk);
  }
  return chunks;
}
