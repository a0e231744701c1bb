import { idTimeMs } from '../platform/ids.ts';
import { dropUnneeded, type FileContext } from './files.ts';
import { deleteExpiredFiles } from './files-store.ts';

const SWEPT_AT_ONCE = 200;

/** Remove expired files. */
export async function sweepExpiredFiles(context: FileContext, signal: AbortSignal): Promise<void> {
  for (let deleted = SWEPT_AT_ONCE; deleted === SWEPT_AT_ONCE; ) {
    signal.throwIfAborted();
    const keys = await deleteExpiredFiles(context.sql, SWEPT_AT_ONCE);
    await dropUnneeded(context, keys);
    deleted = keys.length;
  }
}

/**
 * Remove objects without a file: those left by a process that was killed between two steps, or by a deleted
 * organization. Keep young objects, since their row may still be inserted.
 * @returns number of removed files
 */
export async function sweepOrphanedFiles(
  context: FileContext,
  olderThanMs: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  let keys: string[] = [];
  for await (const { key } of context.objects.list('files/')) {
    signal.throwIfAborted();
    if ((idTimeMs(key.split('/')[2] ?? '') ?? Number.POSITIVE_INFINITY) > Date.now() - olderThanMs) continue;
    keys.push(key);
    if (keys.length < SWEPT_AT_ONCE) continue;
    removed += await dropUnneeded(context, keys);
    keys = [];
  }
  return removed + (await dropUnneeded(context, keys));
}
