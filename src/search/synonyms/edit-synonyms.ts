import { recordAudit } from '../../access/audit.ts';
import { type Caller, requireScope } from '../../access/caller.ts';
import { findBucket, lockBucket } from '../../documents/store.ts';
import { newId } from '../../platform/ids.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import type { SynonymsEdit, SynonymsView } from './schema.ts';
import { findSynonyms, replaceSynonyms } from './synonym-store.ts';

/** @throws AppError `bucket_not_found` (404) */
export async function getSynonyms(sql: Sql, caller: Caller, bucketRef: string): Promise<SynonymsView> {
  const { id } = await findBucket(sql, caller, bucketRef);
  const stored = await findSynonyms(sql, caller.orgId, id);
  return { bucket_id: id, groups: stored?.groups ?? [], updated_at: stored?.updatedAt.toISOString() ?? null };
}

/**
 * Replace the synonyms of a bucket. Every process uses them from its next search on. Nothing is reindexed.
 *
 * @throws AppError `scope_missing` (403), `bucket_not_found` (404)
 */
export async function setSynonyms(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  { groups }: SynonymsEdit,
): Promise<SynonymsView> {
  requireScope(caller, 'buckets:manage');
  const { orgId, actor } = caller;
  const { id: bucketId } = await findBucket(sql, caller, bucketRef);
  const updatedAt = await inTransaction(sql, async (tx) => {
    await lockBucket(tx, orgId, bucketId);
    const before = (await findSynonyms(tx, orgId, bucketId))?.groups.length ?? 0;
    const at = await replaceSynonyms(tx, { orgId, bucketId }, { editId: newId('syn'), groups });
    const detail = { groups_before: before, groups: groups.length };
    await recordAudit(tx, { orgId, actor, action: 'bucket.synonyms', target: bucketId, detail });
    return at;
  });
  return { bucket_id: bucketId, groups, updated_at: updatedAt?.toISOString() ?? null };
}
