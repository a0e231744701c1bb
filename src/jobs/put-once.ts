import { AppError } from '../platform/errors.ts';
import { freeMemory } from '../platform/free-memory.ts';
import type { Objects } from '../platform/objects/objects.ts';

/**
 * Store an object of a job once. If an earlier worker of the job has stored it already, keep that object if it is
 * usable.
 *
 * @param bytes freed once written
 * @param findUsable reads the existing object; returns null if it is unusable
 * @param confirm throws if the job is no longer held, since only its holder may replace an object
 * @returns the object that was kept; null if `bytes` were written
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
