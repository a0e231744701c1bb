import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { requireOrgAdmin } from '../access/roles.ts';
import { addBucket, markBucketDeleted } from '../documents/buckets.ts';
import { BucketName, BucketPolicy } from '../documents/schema.ts';
import { type BucketUser, findBucket, lockBucket, lockBucketPolicy } from '../documents/store.ts';
import { pageOf, unixSeconds } from '../files/list-page.ts';
import { notifyWorkers } from '../jobs/notifier.ts';
import { invalidRequest, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { isUniqueViolation, type Sql } from '../platform/postgres.ts';
import { attachFiles } from './attach-files.ts';
import type { VectorStoreContext } from './context.ts';
import { pageOrder } from './page-order.ts';
import type { CreateVectorStore, EditVectorStore, PageQuery, VectorStoreView } from './schema.ts';
import {
  type CountedFiles,
  countFiles,
  insertVectorStore,
  NO_FILES,
  type StoreRow,
  selectVectorStore,
  selectVectorStores,
  updateVectorStore,
} from './vector-stores-store.ts';

/**
 * Create a bucket as a vector store, with its initial files.
 * @throws AppError `too_many_buckets` (409), and the errors of `attachFiles`
 */
export async function createVectorStore(
  context: VectorStoreContext,
  caller: Caller,
  request: CreateVectorStore,
): Promise<VectorStoreView> {
  const { sql } = context;
  const name = bucketNameOf(request.name);
  const make = (bucketName: string) => sql.begin((tx) => insertStore(context, tx, caller, bucketName, request));
  const id = await make(name).catch((error: unknown) => {
    // Vector stores may share a name, but buckets may not.
    if (!isUniqueViolation(error)) throw error;
    return make(withSuffix(name));
  });
  if (request.file_ids?.length) await notifyWorkers(context, 'ingest');
  return getVectorStore(sql, caller, id);
}

async function insertStore(
  context: VectorStoreContext,
  tx: Sql,
  caller: Caller,
  bucketName: string,
  request: CreateVectorStore,
): Promise<string> {
  const { chunking_strategy: chunking, description } = request;
  const bucket = await addBucket(tx, caller, { name: bucketName, policy: BucketPolicy.parse({}) });
  const expiresDays = request.expires_after?.days ?? null;
  await insertVectorStore(tx, bucket.id, {
    name: request.name || null,
    description: description ?? null,
    metadata: request.metadata ?? {},
    expiresDays,
  });
  const wanted = (request.file_ids ?? []).map((fileId, at) => ({ fileId, chunking, param: `file_ids[${at}]` }));
  if (wanted.length > 0) await attachFiles(context, tx, caller, bucket, wanted);
  return bucket.id;
}

/** Derive a bucket name for a new vector store from the given name. */
function bucketNameOf(given: string | undefined): string {
  const plain = (given ?? '')
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, 50);
  return BucketName.safeParse(plain).success ? plain : withSuffix('vector-store');
}

function withSuffix(name: string): string {
  return `${name}-${newId('x').slice(-8)}`;
}

/** @throws AppError `bucket_not_found` (404) */
export async function getVectorStore(sql: Sql, caller: Caller, ref: string): Promise<VectorStoreView> {
  const store = await findStore(sql, caller, ref);
  return viewOf(store, (await countFiles(sql, caller, [store.id])).get(store.id));
}

/** List all buckets of the organization as vector stores. */
export async function listVectorStores(sql: Sql, caller: Caller, query: PageQuery) {
  const stores = await selectVectorStores(sql, caller, query);
  const files = await countFiles(
    sql,
    caller,
    stores.map(({ id }) => id),
  );
  const views = stores.map((store) => viewOf(store, files.get(store.id)));
  return pageOf(views, query.limit, pageOrder(sql, sql``, query));
}

/**
 * Update fields of a vector store. The bucket keeps its name.
 * @throws AppError `bucket_not_found` (404), `vector_store_expired`, 400 for an expiry of a bucket that wasn't created
 *   as a vector store
 */
export async function editVectorStore(
  sql: Sql,
  caller: Caller,
  ref: string,
  edit: EditVectorStore,
): Promise<VectorStoreView> {
  const { id } = await findBucket(sql, caller, ref);
  const { name, expires_after: expiry, metadata } = edit;
  await sql.begin(async (tx) => {
    await lockBucket(tx, caller.orgId, id);
    const store = await requireLive(tx, caller, id);
    if (expiry && !store.isOwn) {
      const message = 'expires_after: only a vector store created with POST /v1/vector_stores can expire';
      throw invalidRequest(message, 'expires_after');
    }
    const fields = {
      name: name === '' ? null : name,
      metadata: metadata === null ? {} : metadata,
      expiresDays: expiry === null ? null : expiry?.days,
    };
    await updateVectorStore(tx, id, fields);
    const { orgId, actor } = caller;
    await recordAudit(tx, { orgId, actor, action: 'vector_store.edit', target: id, detail: edit });
  });
  return getVectorStore(sql, caller, id);
}

/**
 * Delete a vector store and its documents. A bucket that wasn't created as a vector store needs an administrator's
 * session, as in `deleteBucket`.
 * @throws AppError `bucket_not_found` (404), `role_missing`, `out_of_reach` (403)
 */
export async function deleteVectorStore(sql: Sql, caller: Caller, ref: string) {
  const store = await findStore(sql, caller, ref);
  if (!store.isOwn) requireOrgAdmin(caller);
  await sql.begin(async (tx) => markBucketDeleted(tx, caller, await lockBucketPolicy(tx, caller.orgId, store.id)));
  return { id: store.id, object: 'vector_store.deleted' as const, deleted: true as const };
}

async function findStore(sql: Sql, caller: BucketUser, ref: string): Promise<StoreRow> {
  const store = await selectVectorStore(sql, caller, ref);
  if (store === null) throw notFound('bucket', ref);
  return store;
}

/** Return an unexpired vector store. @throws AppError `bucket_not_found` (404), `vector_store_expired` (400) */
export async function requireLive(sql: Sql, caller: BucketUser, ref: string): Promise<StoreRow> {
  const store = await findStore(sql, caller, ref);
  if (!store.isExpired) return store;
  const at = store.expiresAt?.toISOString();
  const message = `the vector store has expired at ${at}, and its files are removed; create another one`;
  throw invalidRequest(message, 'vector_store_id', 'vector_store_expired');
}

function viewOf(store: StoreRow, { counts, bytes }: CountedFiles = NO_FILES): VectorStoreView {
  const { expiresDays, expiresAt, lastActiveAt } = store;
  const status = store.isExpired ? 'expired' : counts.in_progress > 0 ? 'in_progress' : 'completed';
  return {
    id: store.id,
    object: 'vector_store',
    created_at: unixSeconds(store.createdAt),
    name: store.name,
    description: store.description,
    usage_bytes: bytes,
    file_counts: counts,
    status,
    expires_after: expiresDays === null ? null : { anchor: 'last_active_at', days: expiresDays },
    expires_at: expiresAt && unixSeconds(expiresAt),
    last_active_at: lastActiveAt && unixSeconds(lastActiveAt),
    metadata: store.metadata,
  };
}
