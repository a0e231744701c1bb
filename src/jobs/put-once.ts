import { AppError } from '../platform/errors.ts';
import { freeMemory } from '../platform/free-memory.ts';
import type { Objects } from '../platform/objects/objects.ts';

/**
 * Write an object of a job once. If a former worker of the job has already written it, keep that object if it can be
 * used.
 *
 * @param bytes are freed once they are written
 * @param findUsable reads the object that is there; null if it cannot be used
 * @param confirm throws if the job is no longer held, since only its holder may replace an object
 * @returns the object that is kept; null if `bytes` were written
 */
export async function putOnce<Stored>(
  objects: Objects,
  key: string,
  bytes: Uint8Array,
  { findUsable, confirm }: { findUsable: () => Promise<Stored | null>; confirm: () => Promise<void> },
): Promise<Stored | null> {
  try {
    await objects.put(key, bytes, { ifAbsent: true });
    freeMemory(bytes);
    return null;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'object_exists') throw error;
  }
  const usable = await findUsable();
  if (usable !== null) return usable;
  await confirm();
  await objects.put(key, bytes);
  return null;
}
