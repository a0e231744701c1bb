import type { Caller } from '../access/caller.ts';
import { notFound } from '../platform/errors.ts';
import { viewOf } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { accessOf } from './access-list.ts';
import {
  type BucketPolicy,
  type BucketView,
  type CollectionView,
  type DocumentStatus,
  DocumentView,
  type Engine,
} from './schema.ts';
import { hidesFrom, readsEverything, visibleTo } from './visibility.ts';

type Row = Record<string, unknown>;

export async function insertBucket(
  sql: Sql,
  orgId: string,
  bucket: { id: string; name: string; policy: BucketPolicy; engine?: Engine },
): Promise<BucketView> {
  const engine = bucket.engine === 'lance' ? null : (bucket.engine ?? null);
  const [row] = await sql`
    INSERT INTO buckets (id, org_id, name, policy, engine)
    VALUES (${bucket.id}, ${orgId}, ${bucket.name}, ${sql.json(bucket.policy)}, ${engine}) RETURNING *`;
  return toBucket(row as Row);
}

/** Page of a list by unique name: rows after the name `after`. */
interface NamePage {
  readonly limit: number;
  readonly after?: string | undefined;
}

/** List an organization's buckets by name; without `page`, all of them. `document_count` counts visible documents. */
export async function listBuckets(sql: Sql, caller: Caller, page?: NamePage): Promise<BucketView[]> {
  const rows = await sql`
    SELECT * FROM buckets WHERE ${bucketsOf(sql, caller)} ${afterName(sql, page)}`;
  // Count all buckets in one query, with ids that the planner sees. Otherwise, if one bucket has most of the documents,
  // it reads all documents for each bucket.
  const counted = await sql`
    SELECT bucket_id, count(*)::int AS documents FROM documents
    WHERE bucket_id = ANY(${sql.array(rows.map((row) => row['id'] as string))}::text[]) AND ${visibleTo(sql, caller)}
    GROUP BY bucket_id`;
  const documents = new Map(counted.map((row) => [row['bucket_id'], row['documents'] as number]));
  return rows.map((row) => ({ ...toBucket(row as Row), document_count: documents.get(row['id']) ?? 0 }));
}

/** Count the documents of a bucket that a caller may see, and their searchable chunks. */
export async function countInBucket(
  sql: Sql,
  caller: Caller,
  bucketId: string,
): Promise<{ documents: number; chunks: number; chunksByWords: number }> {
  const [row] = await sql<[{ documents: number; chunks: number; chunksByWords: number }]>`
    SELECT count(*)::int AS documents,
           coalesce(sum(chunks_count) FILTER (WHERE keyword_only AND status = 'ready'), 0)::bigint AS "chunksByWords",
           coalesce(sum(chunks_count) FILTER (WHERE active_generation IS NOT NULL), 0)::bigint AS chunks
    FROM documents WHERE bucket_id = ${bucketId} AND ${visibleTo(sql, caller)}`;
  return row;
}

/** Build the end of a query by name: rows after the previous page, up to the page size. */
function afterName(sql: Sql, page: NamePage | undefined): SqlFragment {
  return sql`${page?.after === undefined ? sql`` : sql`AND name > ${page.after}`} ORDER BY name LIMIT ${page?.limit ?? null}`;
}

export async function listBucketNames(sql: Sql, caller: BucketUser): Promise<{ id: string; name: string }[]> {
  return sql<{ id: string; name: string }[]>`
    SELECT id, name FROM buckets WHERE ${bucketsOf(sql, caller)} ORDER BY name`;
}

/** Find a bucket by id or name. @throws AppError `bucket_not_found` (404) */
export async function findBucket(sql: Sql, caller: BucketUser, ref: string): Promise<BucketView> {
  const [row] = await sql`
    SELECT * FROM buckets WHERE ${bucketNamed(sql, caller, ref)}`;
  if (!row) throw notFound('bucket', ref);
  return toBucket(row as Row);
}

/** Caller fields that determine which buckets exist for it. */
export type BucketUser = Pick<Caller, 'orgId' | 'limits'>;

/** Build the condition that a row of `buckets` exists for a caller. */
export function bucketsOf(sql: Sql, { orgId, limits }: BucketUser): SqlFragment {
  const allowed = limits?.buckets;
  return sql`
    buckets.org_id = ${orgId} AND buckets.deleting_at IS NULL
    ${allowed === undefined ? sql`` : sql`AND buckets.id = ANY(${sql.array([...allowed])}::text[])`}`;
}

/** Build the condition that a row of `buckets` exists for a caller and has this id or name. */
export function bucketNamed(sql: Sql, caller: BucketUser, ref: string): SqlFragment {
  return sql`${bucketsOf(sql, caller)} AND (buckets.id = ${ref} OR buckets.name = ${ref})`;
}

export async function insertCollection(
  sql: Sql,
  orgId: string,
  collection: { id: string; bucketId: string; name: string },
): Promise<CollectionView> {
  const [row] = await sql`
    INSERT INTO collections (id, org_id, bucket_id, name)
    VALUES (${collection.id}, ${orgId}, ${collection.bucketId}, ${collection.name}) RETURNING *`;
  return toCollection(row as Row);
}

export async function listCollections(
  sql: Sql,
  orgId: string,
  bucketId: string,
  page: NamePage,
): Promise<CollectionView[]> {
  const rows = await sql`
    SELECT * FROM collections WHERE org_id = ${orgId} AND bucket_id = ${bucketId} ${afterName(sql, page)}`;
  return rows.map((row) => toCollection(row as Row));
}

/** Find a collection by id or name. @throws AppError `collection_not_found` (404) */
export async function findCollection(sql: Sql, orgId: string, bucketId: string, ref: string): Promise<CollectionView> {
  const [row] = await sql`
    SELECT * FROM collections WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND (id = ${ref} OR name = ${ref.normalize('NFC')})`;
  if (!row) throw notFound('collection', ref);
  return toCollection(row as Row);
}

/**
 * Lock a bucket and its policy against changes until the transaction ends.
 *
 * @throws AppError `bucket_not_found` (404) if it is deleted or being deleted
 */
export async function lockBucketPolicy(sql: Sql, orgId: string, bucketId: string): Promise<BucketView> {
  const [row] = await sql`
    SELECT id, name, policy, engine, created_at, updated_at FROM buckets
    WHERE org_id = ${orgId} AND id = ${bucketId} AND deleting_at IS NULL FOR SHARE`;
  if (!row) throw notFound('bucket', bucketId);
  return toBucket(row as Row);
}

/** Lock a bucket for an update until the transaction ends. @throws as `lockBucketPolicy` */
export async function lockBucket(sql: Sql, orgId: string, bucketId: string): Promise<BucketView> {
  const [row] = await sql`
    SELECT * FROM buckets WHERE org_id = ${orgId} AND id = ${bucketId} AND deleting_at IS NULL FOR NO KEY UPDATE`;
  if (!row) throw notFound('bucket', bucketId);
  return toBucket(row as Row);
}

export async function updateBucket(
  sql: Sql,
  orgId: string,
  bucket: Pick<BucketView, 'id' | 'name' | 'policy'>,
): Promise<BucketView> {
  const [row] = await sql`
    UPDATE buckets SET name = ${bucket.name}, policy = ${sql.json(bucket.policy)}, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${bucket.id} RETURNING *`;
  return toBucket(row as Row);
}

/** Serialise uploads of the same bytes to a bucket until the transaction ends. */
export async function lockContent(sql: Sql, bucketId: string, sha256: Buffer): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${contentLock(bucketId, sha256)}, 0))`;
}

/** Return the advisory lock name for uploads of the same bytes to a bucket. */
export function contentLock(bucketId: string, sha256: Buffer): string {
  return `${bucketId}/${sha256.toString('hex')}`;
}

/**
 * Sum the bytes of an organization's documents, of its files that no document shares, and of its unfinished batches:
 * their inputs, and the largest possible outputs. Other callers of this function wait until the transaction ends.
 *
 * @param exceptFiles object keys of files that don't count unless a document shares them
 */
export async function lockStoredBytes(tx: Sql, orgId: string, exceptFiles: readonly string[] = []): Promise<number> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${orgId}/stored bytes`}, 0))`;
  const [row] = await tx`
    SELECT (
      (SELECT coalesce(sum(size_bytes), 0) FROM documents WHERE org_id = ${orgId})
      + (SELECT coalesce(sum(size_bytes), 0)
         FROM (SELECT object_key, size_bytes FROM files WHERE org_id = ${orgId}
               UNION SELECT input_key, input_bytes FROM batches WHERE org_id = ${orgId} AND ended_at IS NULL) AS held
         WHERE object_key <> ALL(${tx.array([...exceptFiles])}::text[])
           AND NOT EXISTS (SELECT 1 FROM documents
                           WHERE documents.object_key = held.object_key AND documents.object_key LIKE 'files/%'))
      + (SELECT coalesce(sum(output_bytes_max), 0) FROM batches WHERE org_id = ${orgId} AND ended_at IS NULL)
    )::text AS bytes`;
  return Number(row?.['bytes']);
}

/** Find the bucket's oldest document with these bytes that the caller may see and that has not failed. */
export async function findByContent(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  sha256: Buffer,
): Promise<{ id: string; status: DocumentStatus; collectionId: string | null; jobId: string | null } | null> {
  const [row] = await sql<{ id: string; status: DocumentStatus; collectionId: string | null; jobId: string | null }[]>`
    SELECT id, status, collection_id AS "collectionId", ${lastJobOf(sql)} AS "jobId" FROM documents
    WHERE bucket_id = ${bucketId} AND sha256 = ${sha256} AND ${isKept(sql, caller)}
    ORDER BY id LIMIT 1`;
  return row ?? null;
}

/** Build the condition that the caller sees a document that has not failed, so its bytes need no new upload. */
export function isKept(sql: Sql, caller: Caller): SqlFragment {
  return sql`documents.org_id = ${caller.orgId} AND documents.status <> 'failed' AND ${visibleTo(sql, caller)}`;
}

/** Build the expression for the id of a document's newest job. */
export function lastJobOf(sql: Sql): SqlFragment {
  return sql`(SELECT j.id FROM jobs j WHERE j.document_id = documents.id ORDER BY j.created_at DESC, j.id DESC LIMIT 1)`;
}

/** Select the id of a document's newest job, and the category of its failure if the document has an error. */
export function lastJobColumns(sql: Sql): SqlFragment {
  return sql`${lastJobOf(sql)} AS job_id,
    CASE WHEN documents.error_message IS NOT NULL THEN (
      SELECT j.error_category FROM jobs j WHERE j.document_id = documents.id ORDER BY j.created_at DESC, j.id DESC LIMIT 1
    ) END AS error_category`;
}

/**
 * @param bucketId null for any bucket of the organization
 * @throws AppError `document_not_found` (404)
 */
export async function findDocument(
  sql: Sql,
  caller: Caller,
  bucketId: string | null,
  documentId: string,
): Promise<DocumentView> {
  const [row] = await sql`
    SELECT documents.*, ${lastJobColumns(sql)} FROM documents JOIN buckets ON buckets.id = documents.bucket_id
    WHERE documents.org_id = ${caller.orgId} AND documents.id = ${documentId} AND ${visibleTo(sql, caller)}
      ${bucketId === null ? sql`` : sql`AND documents.bucket_id = ${bucketId}`}
      AND buckets.deleting_at IS NULL`;
  if (!row) throw notFound('document', documentId);
  return toDocument(row as Row);
}

/** Return true if a bucket contains a document that the caller may not read. */
export async function holdsHidden(sql: Sql, caller: Caller, bucketId: string): Promise<boolean> {
  if (readsEverything(caller)) return false;
  const [row] = await sql`SELECT ${hidesFrom(sql, caller, { orgId: caller.orgId, id: bucketId })} AS hides`;
  return row?.['hides'] === true;
}

/** Return those of the buckets that contain documents that the caller may not read. */
export async function filterHiding(sql: Sql, caller: Caller, bucketIds: readonly string[]): Promise<Set<string>> {
  if (readsEverything(caller) || bucketIds.length === 0) return new Set();
  const rows = await sql`
    SELECT given.id FROM unnest(${sql.array([...bucketIds])}::text[]) AS given (id)
    WHERE ${hidesFrom(sql, caller, { orgId: caller.orgId, id: sql`given.id` })}`;
  return new Set(rows.map((row) => row['id'] as string));
}

/** Return the ids that belong to existing documents of any organization. */
export async function findExistingDocuments(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql`SELECT id FROM documents WHERE id = ANY(${sql.array([...ids])}::text[])`;
  return new Set(rows.map((row) => row['id'] as string));
}

function toBucket(row: Row): BucketView {
  return {
    id: row['id'] as string,
    name: row['name'] as string,
    policy: row['policy'] as BucketPolicy,
    engine: (row['engine'] as Engine | null) ?? 'lance',
    created_at: (row['created_at'] as Date).toISOString(),
    updated_at: (row['updated_at'] as Date).toISOString(),
  };
}

function toCollection(row: Row): CollectionView {
  return {
    id: row['id'] as string,
    bucket_id: row['bucket_id'] as string,
    name: row['name'] as string,
    created_at: (row['created_at'] as Date).toISOString(),
  };
}

const DOCUMENT_COLUMNS = Object.keys(DocumentView.shape);

export function toDocument(row: Row): DocumentView {
  const hasFailed = row['status'] === 'failed' || row['content_pending'] === true;
  return {
    ...viewOf<DocumentView>(row, DOCUMENT_COLUMNS),
    sha256: (row['sha256'] as Buffer).toString('hex'),
    error_message: hasFailed ? (row['error_message'] as string | null) : null,
    error_category: hasFailed ? ((row['error_category'] as string | null | undefined) ?? null) : null,
    job_id: (row['job_id'] as string | null | undefined) ?? null,
    access: accessOf(row['access_list'] as string[] | null),
  };
}
