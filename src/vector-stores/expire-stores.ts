import { recordAudit } from '../access/audit.ts';
import { emptyBucket } from '../documents/buckets.ts';
import { markBucketDeleting } from '../documents/deletion-store.ts';
import { lockBucket } from '../documents/store.ts';
import type { Sql } from '../platform/postgres.ts';
import { type ExpiredStore, findExpiredStore, selectExpiredStores } from './vector-stores-store.ts';

/** Days for which an expired vector store is still listed without its files. */
const KEPT_DAYS = 30;
const STORES_AT_ONCE = 100;
const ACTOR = 'service:expiry';

/** Delete the files of expired vector stores, and stores that expired long ago. */
export async function expireStores(sql: Sql, signal: AbortSignal): Promise<void> {
  for (const store of await selectExpiredStores(sql, KEPT_DAYS, STORES_AT_ONCE)) {
    signal.throwIfAborted();
    await sql.begin((tx) => expire(tx, store));
  }
}

async function expire(tx: Sql, { id, orgId }: ExpiredStore): Promise<void> {
  const bucket = await lockBucket(tx, orgId, id);
  // A search or an upload may have renewed the store meanwhile.
  const store = await findExpiredStore(tx, KEPT_DAYS, id);
  if (store === null) return;
  await emptyBucket(tx, orgId, id);
  if (store.isForgotten) await markBucketDeleting(tx, orgId, id);
  const action = store.isForgotten ? 'bucket.delete' : 'vector_store.expire';
  await recordAudit(tx, { orgId, actor: ACTOR, action, target: id, detail: { name: bucket.name } });
}
