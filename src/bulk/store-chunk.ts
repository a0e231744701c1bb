import type { Lease } from '../jobs/lease.ts';
import { putOnce } from '../jobs/put-once.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { textsOf } from './job-facts.ts';
import { chunkKey, chunkOfKey, chunksPrefix } from './object-keys.ts';
import { checkResultChunk, encodeResultChunk, type ResultChunk, type ResultChunkFacts } from './result-chunk.ts';
import type { BulkJob } from './store.ts';

/** Maximum size of a stored chunk: 100 texts of 4,096 dimensions, and the facts. */
const CHUNK_BYTES_MAX = 16 * 1024 * 1024;

/** Read the stored object of a chunk of `job`. Return null if it is missing or unusable. */
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
 * Store a chunk once. If an earlier worker of the job has stored it already, keep that object unless it is damaged or
 * in another latent space.
 * @returns facts of the object as stored
 * @throws LeaseLost if the stored object must be replaced, which only the holder of the job may do
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
  const findUsable = async () => {
    const stored = await findStoredChunk(objects, job, chunk);
    return stored?.facts.space === facts.space ? stored.facts : null;
  };
  return (await putOnce(objects, key, bytes, { findUsable, confirm: () => lease.confirm() })) ?? facts;
}

/** List the chunks with a stored object, including those not recorded as finished. */
export async function listStoredChunks(objects: Objects, job: BulkJob): Promise<number[]> {
  const chunks: number[] = [];
  for await (const { key } of objects.list(chunksPrefix(job.orgId, job.id))) {
    const chunk = chunkOfKey(key);
    if (chunk !== null && textsOf(job, chunk) > 0) chunks.push(chunk);
  }
  return chunks;
}
