import { idTimeMs } from '../platform/ids.ts';
import { deleteOldBatches, hastenOverdue, selectUnfinished } from './batches-store.ts';
import type { BatchContext } from './context.ts';
import { dropUnneeded } from './files.ts';
import { deleteExpiredFiles } from './files-store.ts';
import { chunksPrefix } from './object-keys.ts';

const SWEPT_AT_ONCE = 200;

/** Remove expired files, and records of batches that ended long ago. */
export async function sweepExpired(context: BatchContext, signal: AbortSignal): Promise<void> {
  for (let deleted = SWEPT_AT_ONCE; deleted === SWEPT_AT_ONCE; ) {
    signal.throwIfAborted();
    const keys = await deleteExpiredFiles(context.sql, SWEPT_AT_ONCE);
    await dropUnneeded(context, keys);
    deleted = keys.length;
  }
  for (let deleted = SWEPT_AT_ONCE; deleted === SWEPT_AT_ONCE; ) {
    signal.throwIfAborted();
    deleted = await deleteOldBatches(context.sql, context.retentionMs, SWEPT_AT_ONCE);
  }
}

/** Let batches expire whose completion window is over while they wait for another attempt. */
export async function expireOverdue({ sql, notifier }: BatchContext): Promise<void> {
  if ((await hastenOverdue(sql)) > 0) await notifier.notifyQueued('batch');
}

/**
 * Remove bytes of files that do not exist, and chunks of batches that ended or do not exist: of a process that was
 * killed between two steps, or of a deleted organization. Younger objects are kept, since their row may still be
 * inserted.
 * @returns number of removed files and batches
 */
export async function sweepOrphans(context: BatchContext, olderThanMs: number, signal: AbortSignal): Promise<number> {
  const { sql, objects } = context;
  let removed = 0;
  const isYoung = (id: string) => (idTimeMs(id) ?? Number.POSITIVE_INFINITY) > Date.now() - olderThanMs;
  let keys: string[] = [];
  for await (const { key } of objects.list('files/')) {
    signal.throwIfAborted();
    if (!isYoung(key.split('/')[2] ?? '')) keys.push(key);
    if (keys.length < SWEPT_AT_ONCE) continue;
    removed += await dropUnneeded(context, keys);
    keys = [];
  }
  removed += await dropUnneeded(context, keys);
  let batches = new Map<string, string>(); // batch id -> organization
  const sweepBatches = async () => {
    const unfinished = await selectUnfinished(sql, [...batches.keys()]);
    for (const [id, orgId] of batches) {
      if (unfinished.has(id)) continue;
      await objects.deletePrefix(chunksPrefix(orgId, id));
      removed++;
    }
    batches = new Map();
  };
  for await (const { key } of objects.list('batches/')) {
    signal.throwIfAborted();
    const [, orgId = '', id = ''] = key.split('/');
    if (!isYoung(id)) batches.set(id, orgId);
    if (batches.size >= SWEPT_AT_ONCE) await sweepBatches();
  }
  await sweepBatches();
  return removed;
}
