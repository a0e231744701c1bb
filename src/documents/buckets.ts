import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { requireOrgAdmin } from '../access/roles.ts';
import { checkRowLimit } from '../access/row-limits-store.ts';
import { cancelJobsOf } from '../jobs/document-jobs-store.ts';
import { conflict, forbidden, invalidRequest } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { isUniqueViolation, type Sql } from '../platform/postgres.ts';
import { markBucketDeleting, markBucketDocuments } from './deletion-store.ts';
import type { BucketPolicy, BucketView, CollectionView, Engine } from './schema.ts';
import * as store from './store.ts';

export { findBucket, listBuckets, listCollections } from './store.ts';

/** Refuse an engine that this installation has no access to. @throws AppError `engine_not_configured` (409) */
export function requireEngine(engine: Engine, { index }: { readonly index: { readonly milvus: unknown } }): void {
  if (engine === 'lance' || index.milvus !== null) return;
  const message = `the engine ${engine} is not configured; ask the operator to set index.milvus.url`;
  throw conflict(message, 'engine_not_configured');
}

/** @throws AppError `bucket_exists` or `too_many_buckets` (409) */
export async function createBucket(
  sql: Sql,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  bucket: { name: string; policy: BucketPolicy; engine?: Engine },
): Promise<BucketView> {
  try {
    return await sql.begin((tx) => addBucket(tx, caller, bucket));
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw conflict(`a bucket named "${bucket.name}" already exists; choose another name`, 'bucket_exists');
  }
}

/** Create a bucket in a transaction, which fails if the name is taken. @throws AppError `too_many_buckets` (409) */
export async function addBucket(
  tx: Sql,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  bucket: { name: string; policy: BucketPolicy; engine?: Engine },
): Promise<BucketView> {
  const view = await store.insertBucket(tx, caller.orgId, { id: newId('bkt'), ...bucket });
  await checkRowLimit(tx, caller.orgId, 'buckets');
  await recordAudit(tx, { orgId: caller.orgId, actor: caller.actor, action: 'bucket.create', target: view.id });
  return view;
}

/** @throws AppError `collection_exists` or `too_many_collections` (409) */
export async function createCollection(
  sql: Sql,
  caller: Pick<Caller, 'orgId'>,
  bucketRef: string,
  name: string,
): Promise<CollectionView> {
  const bucket = await store.findBucket(sql, caller, bucketRef);
  try {
    return await sql.begin(async (tx) => {
      await store.lockBucketPolicy(tx, caller.orgId, bucket.id);
      const view = await store.insertCollection(tx, caller.orgId, { id: newId('col'), bucketId: bucket.id, name });
      await checkRowLimit(tx, caller.orgId, 'collections');
      return view;
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw conflict(`a collection named "${name}" already exists; choose another name`, 'collection_exists');
  }
}

/**
 * Delete a bucket under the same rule as HARDDELETE: only a user with an administrative role or the operator may, and
 * only if nothing in it is hidden from them. It vanishes immediately for every caller. `purgeDeleted` removes its
 * documents later, even after a crash. `confirm` must be the bucket's name.
 *
 * @throws AppError `role_missing`, `out_of_reach` (403), `bucket_not_found` (404), 400
 */
export async function deleteBucket(sql: Sql, caller: Caller, bucketRef: string, confirm: string): Promise<string> {
  requireOrgAdmin(caller);
  const bucket = await store.findBucket(sql, caller, bucketRef);
  if (confirm !== bucket.name) {
    throw invalidRequest(`deleting a bucket removes all its documents: confirm with confirm=${bucket.name}`, 'confirm');
  }
  await sql.begin((tx) => markBucketDeleted(tx, caller, bucket));
  return bucket.id;
}

/** Mark a bucket and its documents as deleted. @throws AppError `out_of_reach` (403) */
export async function markBucketDeleted(tx: Sql, caller: Caller, { id, name }: BucketView): Promise<void> {
  const { orgId, actor } = caller;
  // Lock the bucket first, like uploads do.
  await markBucketDeleting(tx, orgId, id);
  await requireReach(tx, caller, id);
  await emptyBucket(tx, orgId, id);
  await recordAudit(tx, { orgId, actor, action: 'bucket.delete', target: id, detail: { name } });
}

/** Mark all documents of a bucket as deleted. Lock the bucket before the call. */
export async function emptyBucket(tx: Sql, orgId: string, bucketId: string): Promise<void> {
  // Lock jobs before documents, in the same order as a finishing job.
  await cancelJobsOf(tx, orgId, { bucketId });
  await markBucketDocuments(tx, orgId, bucketId);
}

/**
 * Check that no document of a bucket is hidden from the caller, before changing or counting all documents. The error
 * reveals neither the documents nor their number.
 *
 * @throws AppError `out_of_reach` (403)
 */
export async function requireReach(sql: Sql, caller: Caller, bucketId: string): Promise<void> {
  if (!(await store.holdsHidden(sql, caller, bucketId))) return;
  const message = 'the bucket has contents that you may not see; ask an administrator with a higher auth level';
  throw forbidden(message, 'out_of_reach');
}
