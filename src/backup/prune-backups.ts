import { AppError } from '../platform/errors.ts';
import { backupPrefix, CONTENTS_PREFIX, completeKey, contentKey, listBackups, readManifest } from './layout.ts';
import { readObjectEntries } from './stored-objects.ts';
import type { BackupTarget } from './target.ts';

/** Maximum number of hashes to compare in one pass over the lists of files. */
const HASHES_MAX = 500_000;

/**
 * Remove all but the newest `keep` complete backups in a location, interrupted backups, and contents that no remaining
 * backup uses. Call this under `withBackupLock`, after a new backup was verified.
 * @returns ids of the removed backups, and the number of removed contents
 */
export async function pruneBackups(
  target: BackupTarget,
  keep: number,
  signal: AbortSignal,
): Promise<{ removed: string[]; contents: number }> {
  const { objects } = target;
  const { complete, unfinished } = await listBackups(objects, signal);
  const kept = complete.slice(0, keep);
  const removed = [...complete.slice(keep), ...unfinished];
  for (const id of removed) {
    signal.throwIfAborted();
    // Delete this first, so that a backup with a missing part never counts as complete.
    await objects.delete(completeKey(id), { signal });
    await objects.deletePrefix(backupPrefix(id), { signal });
  }
  if (removed.length === 0) return { removed, contents: 0 };
  return { removed, contents: await removeUnused(target, kept, signal) };
}

/** Remove contents that none of these backups uses. If a backup can't be read, keep all contents. */
async function removeUnused(target: BackupTarget, kept: readonly string[], signal: AbortSignal): Promise<number> {
  const { objects } = target;
  const lists: Parameters<typeof readObjectEntries>[1][] = [];
  for (const id of kept) {
    try {
      lists.push((await readManifest(target, id)).objects);
    } catch (error) {
      if (error instanceof AppError) return 0;
      throw error;
    }
  }
  let deleted = 0;
  let unused = new Set<string>();
  const sweep = async () => {
    for (const list of lists) {
      for await (const { sha256 } of readObjectEntries(objects, list, signal)) unused.delete(sha256);
    }
    for (const sha256 of unused) await objects.delete(contentKey(sha256), { signal });
    deleted += unused.size;
    unused = new Set();
  };
  for await (const { key } of objects.list(CONTENTS_PREFIX, { signal })) {
    unused.add(key.split('/').at(-1) as string);
    if (unused.size >= HASHES_MAX) await sweep();
  }
  await sweep();
  return deleted;
}
