import { type ReindexContext, rebuildIndex } from '../ingest/reindex/reindex-bucket.ts';
import { findUnfinishedRestore, finishRestore, markRebuilt } from './record-store.ts';
import type { RestoreOptions } from './restore-backup.ts';
import { selectBucketsToIndex } from './restore-store.ts';

/** Numbers of indexed buckets and chunks, and documents whose stored chunks couldn't be read. */
export interface RebuildReport {
  readonly buckets: number;
  readonly chunks: number;
  readonly left_out: readonly string[];
}

/**
 * Build the search index of every bucket of a restored database from the stored chunks, without calling a provider.
 * After an interruption, continue with the remaining buckets. Do nothing if no restore is unfinished.
 * @param actor name in the audit log
 */
export async function rebuildIndexes(
  context: ReindexContext,
  actor: string,
  { signal, onProgress }: RestoreOptions,
): Promise<RebuildReport> {
  const { sql } = context;
  const report = { buckets: 0, chunks: 0, left_out: [] as string[] };
  const restore = await findUnfinishedRestore(sql);
  if (restore === null) return report;
  const buckets = await selectBucketsToIndex(sql);
  const total = buckets.reduce((sum, { chunks }) => sum + chunks, 0);
  let before = 0;
  for (const { id, orgId, chunks } of buckets) {
    signal.throwIfAborted();
    if (!restore.rebuilt.includes(id)) {
      const rebuilt = await rebuildIndex(context, { orgId, actor }, id, {
        signal,
        leaveOutDamaged: true,
        onProgress: (done) => onProgress?.({ phase: 'index', done: before + done, total }),
      });
      await markRebuilt(sql, restore.backupId, id);
      report.left_out.push(...rebuilt.left_out);
    }
    before += chunks;
    report.buckets++;
    report.chunks += chunks;
  }
  await finishRestore(sql, restore.backupId);
  return report;
}
