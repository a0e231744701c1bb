import { idTimeMs } from '../platform/ids.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { findExistingDocuments } from './store.ts';

const BATCH_MAX = 500;

/**
 * Delete stored files without a document: from uploads killed before inserting the row, and from ingest attempts whose
 * document was deleted meanwhile. Keep recent files, whose row may still be inserted.
 *
 * @returns number of documents whose files were deleted
 */
export async function sweepOrphans(
  sql: Sql,
  objects: Objects,
  olderThanMs: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  let batch = new Map<string, string>(); // document id -> prefix of its objects
  const sweepBatch = async () => {
    const existing = await findExistingDocuments(sql, [...batch.keys()]);
    for (const [id, prefix] of batch) {
      if (existing.has(id)) continue;
      await objects.deletePrefix(prefix);
      removed++;
    }
    batch = new Map();
  };
  for await (const { key } of objects.list('documents/')) {
    signal.throwIfAborted();
    const [, orgId, id] = key.split('/');
    const madeMs = idTimeMs(id ?? '');
    if (id === undefined || madeMs === null || madeMs > Date.now() - olderThanMs) continue;
    batch.set(id, `documents/${orgId}/${id}/`);
    if (batch.size >= BATCH_MAX) await sweepBatch();
  }
  await sweepBatch();
  return removed;
}
