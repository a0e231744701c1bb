import { putOnce } from '../jobs/put-once.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { decodeChunk, encodeChunk, type StoredChunk } from './chunk-object.ts';
import { chunkKey } from './object-keys.ts';
import type { PlannedChunk } from './plan.ts';

/** Maximum size of a stored chunk: 100 texts of 4,096 dimensions, and the facts. */
const CHUNK_BYTES_MAX = 16 * 1024 * 1024;

type BatchId = { readonly orgId: string; readonly id: string };

/** Read the stored object of a chunk. Return null if it is missing, damaged, or has other texts. */
export async function findStoredChunk(
  objects: Objects,
  batch: BatchId,
  { number, hash }: PlannedChunk,
): Promise<StoredChunk | null> {
  try {
    const bytes = await objects.get(chunkKey(batch.orgId, batch.id, number), { maxBytes: CHUNK_BYTES_MAX });
    return decodeChunk(bytes, hash);
  } catch (error) {
    if (error instanceof AppError && error.code === 'object_not_found') return null;
    throw error;
  }
}

/**
 * Store a chunk once. If an earlier worker of the batch has stored it already, keep that object unless it is unusable.
 * @param confirm throws if the batch is no longer held, since only its holder may replace an object
 * @returns the chunk as stored
 */
export async function storeChunk(
  objects: Objects,
  batch: BatchId,
  chunk: PlannedChunk,
  embedded: StoredChunk,
  confirm: () => Promise<void>,
): Promise<StoredChunk> {
  const key = chunkKey(batch.orgId, batch.id, chunk.number);
  const { space, dimensions } = embedded.facts;
  const findUsable = async () => {
    const stored = await findStoredChunk(objects, batch, chunk);
    return stored?.facts.space === space && stored.facts.dimensions === dimensions ? stored : null;
  };
  return (await putOnce(objects, key, encodeChunk(embedded), { findUsable, confirm })) ?? embedded;
}
