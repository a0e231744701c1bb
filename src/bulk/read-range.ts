import { AppError } from '../platform/errors.ts';
import { freeMemory, ownsMemory } from '../platform/free-memory.ts';
import type { Objects } from '../platform/objects/objects.ts';

/**
 * Fill `target` with the bytes of an object from offset `start`.
 * @throws AppError `object_not_found` (404), `object_damaged` (500) if the object is too short, `objects_unavailable`
 */
export async function readRange(objects: Objects, key: string, start: number, target: Uint8Array): Promise<void> {
  let at = 0;
  for await (const part of objects.stream(key, { start, end: start + target.length - 1 })) {
    const bytes = part as Uint8Array;
    if (at + bytes.length > target.length) throw objectDamaged(key);
    target.set(bytes, at);
    at += bytes.length;
    if (ownsMemory(bytes)) freeMemory(bytes);
  }
  if (at < target.length) throw objectDamaged(key);
}

/** Build the error for a stored object that differs from what was written. */
export function objectDamaged(key: string): AppError {
  return new AppError({ code: 'object_damaged', status: 500, message: `a stored object is damaged: ${key}` });
}
