import { idTimeMs } from '../platform/ids.ts';
import { deleteOldBatches, hastenOverdue, selectUnfinished } from './batches-store.ts';
import type { BatchContext } from './context.ts';
import { chunksPrefix } from './object-keys.ts';

const SWEPT_AT_ONCE = 200;

/** Delete the records of batches that ended long ago. */
export async function sweepOld({ sql, retentionMs }: BatchContext, signal: AbortSignal): Promise<void> {
  for (let deleted = SWEPT_AT_ONCE; deleted === SWEPT_AT_ONCE; ) {
    signal.throwIfAborted();
    deleted = await deleteOldBatches(sql, retentionMs, SWEPT_AT_ONCE);
  }
}

/** Expire batches whose completion window ends while they wait for another attempt. */
export async function expireOverdue({ sql, notifier }: BatchContext): Promise<void> {
  if ((await hastenOverdue(sql)) > 0) await notifier.notifyQueued('batch');
}

/**
 * Delete chunks of ended or unknown batches, left by a process that was killed between two steps or by a deleted
 * organization. Keep recent objects, whose row may still be inserted.
 */
export async function sweepOrphans(
  { sql, objects }: BatchContext,
  olderThanMs: number,
  signal: AbortSignal,
): Promise<void> {
  const isYoung = (id: string) => (idTimeMs(id) ?? Number.POSITIVE_INFINITY) > Date.now() - olderThanMs;
  let batches = new Map<string, string>(); // batch id -> organization
  const sweepBatches = async () => {
    const unfinished = await selectUnfinished(sql, [...batches.keys()]);
    for (const [id, orgId] of batches) {
      if (!unfinished.has(id)) await objects.deletePrefix(chunksPrefix(orgId, id));
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
}
