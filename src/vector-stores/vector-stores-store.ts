import type { Caller } from '../access/caller.ts';
import { isStaying } from '../access/move-store.ts';
import { type BucketUser, bucketNamed, bucketsOf } from '../documents/store.ts';
import { visibleTo } from '../documents/visibility.ts';
import type { Metadata } from '../files/metadata.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { pageOrder } from './page-order.ts';
import type { FileCounts, FileState, PageQuery } from './schema.ts';

/** Bucket in the role of a vector store. */
export interface StoreRow {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly description: string | null;
  readonly metadata: Metadata;
  /** True if it was created as a vector store. */
  readonly isOwn: boolean;
  readonly expiresDays: number | null;
  readonly expiresAt: Date | null;
  readonly isExpired: boolean;
  readonly lastActiveAt: Date | null;
}

/** Return a bucket by id or name, or null if the organization has none. */
export async function selectVectorStore(sql: Sql, caller: BucketUser, ref: string): Promise<StoreRow | null> {
  const [row] = await sql<StoreRow[]>`
    SELECT ${columns(sql)} FROM ${joined(sql)} WHERE ${bucketNamed(sql, caller, ref)}`;
  return row ?? null;
}

/** List buckets by creation time: one more than the query's limit. */
export async function selectVectorStores(sql: Sql, caller: BucketUser, query: PageQuery): Promise<StoreRow[]> {
  const { condition, clauses } = pageOrder(sql, sql`buckets.id`, query);
  return sql<StoreRow[]>`
    SELECT ${columns(sql)} FROM ${joined(sql)}
    WHERE ${bucketsOf(sql, caller)} AND ${condition} ${clauses}`;
}

function joined(sql: Sql): SqlFragment {
  return sql`
    buckets LEFT JOIN (
      SELECT vector_stores.*, ${activeAt(sql)} AS active_at, ${expiresAt(sql)} AS expires_at FROM vector_stores
    ) AS own ON own.bucket_id = buckets.id`;
}

function columns(sql: Sql): SqlFragment {
  return sql`
    buckets.id, coalesce(own.name, buckets.name) AS name, buckets.created_at AS "createdAt", own.description,
    coalesce(own.metadata, '{}') AS metadata, coalesce(own.is_own, false) AS "isOwn",
    own.expires_days AS "expiresDays", own.active_at AS "lastActiveAt", own.expires_at AS "expiresAt",
    coalesce(own.expires_at <= now(), false) AS "isExpired"`;
}

/** Build the expression for the last activity of a row of `vector_stores`: a search, change or upload. */
function activeAt(sql: Sql): SqlFragment {
  return sql`
    greatest(vector_stores.last_active_at, (
      SELECT created_at FROM documents WHERE documents.bucket_id = vector_stores.bucket_id ORDER BY id DESC LIMIT 1))`;
}

function expiresAt(sql: Sql): SqlFragment {
  return sql`(${activeAt(sql)} + vector_stores.expires_days * interval '1 day')`;
}

/** Build the expression for a document's status as a file of a vector store. */
export function fileState(sql: Sql): SqlFragment {
  return sql`
    (CASE documents.status
       WHEN 'ready' THEN 'completed'
       WHEN 'failed' THEN CASE WHEN (
         SELECT last.status FROM jobs last WHERE last.document_id = documents.id
         ORDER BY last.created_at DESC, last.id DESC LIMIT 1) = 'cancelled' THEN 'cancelled' ELSE 'failed' END
       ELSE 'in_progress' END)`;
}

/** Number of files by status, and their total bytes. */
export interface CountedFiles {
  readonly counts: FileCounts;
  readonly bytes: number;
}

export const NO_FILES: CountedFiles = {
  counts: { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 },
  bytes: 0,
};

/** Count the files of these buckets that the caller may see, per bucket. Omit buckets without files. */
export async function countFiles(
  sql: Sql,
  caller: Caller,
  bucketIds: readonly string[],
): Promise<Map<string, CountedFiles>> {
  const rows = await sql<(StateCount & { readonly bucketId: string })[]>`
    SELECT bucket_id AS "bucketId", ${fileState(sql)} AS state, count(*)::int AS files, sum(size_bytes)::bigint AS bytes
    FROM documents WHERE bucket_id = ANY(${sql.array([...bucketIds])}::text[]) AND ${visibleTo(sql, caller)}
    GROUP BY 1, 2`;
  const byBucket = Map.groupBy(rows, ({ bucketId }) => bucketId);
  return new Map([...byBucket].map(([id, own]) => [id, sumUp(own)]));
}

/** Count the given documents that the caller may see. */
export async function countFilesAmong(
  sql: Sql,
  caller: Caller,
  documentIds: readonly string[],
): Promise<CountedFiles['counts']> {
  const rows = await sql<StateCount[]>`
    SELECT ${fileState(sql)} AS state, count(*)::int AS files, sum(size_bytes)::bigint AS bytes
    FROM documents
    WHERE org_id = ${caller.orgId} AND id = ANY(${sql.array([...documentIds])}::text[]) AND ${visibleTo(sql, caller)}
    GROUP BY 1`;
  return sumUp(rows).counts;
}

interface StateCount {
  readonly state: FileState;
  readonly files: number;
  readonly bytes: number;
}

function sumUp(rows: readonly StateCount[]): CountedFiles {
  const counts = { ...NO_FILES.counts };
  let bytes = 0;
  for (const row of rows) {
    counts[row.state] = row.files;
    counts.total += row.files;
    bytes += row.bytes;
  }
  return { counts, bytes };
}

/** Vector store fields that a request sets. Null clears a field, and undefined leaves it unchanged. */
export interface StoreFields {
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly metadata?: Metadata | undefined;
  readonly expiresDays?: number | null | undefined;
}

export async function insertVectorStore(tx: Sql, bucketId: string, fields: StoreFields): Promise<void> {
  const { name = null, description = null, metadata = {}, expiresDays = null } = fields;
  await tx`
    INSERT INTO vector_stores (bucket_id, is_own, name, description, metadata, expires_days)
    VALUES (${bucketId}, true, ${name}, ${description}, ${tx.json(metadata)}, ${expiresDays})`;
}

/** Set vector store fields of a bucket, and record that it was used just now. */
export async function updateVectorStore(
  tx: Sql,
  bucketId: string,
  fields: Omit<StoreFields, 'description'>,
): Promise<void> {
  const { name, metadata, expiresDays } = fields;
  await tx`INSERT INTO vector_stores (bucket_id, is_own) VALUES (${bucketId}, false) ON CONFLICT (bucket_id) DO NOTHING`;
  await tx`
    UPDATE vector_stores
    SET last_active_at = now()
        ${name === undefined ? tx`` : tx`, name = ${name}`}
        ${metadata === undefined ? tx`` : tx`, metadata = ${tx.json(metadata)}`}
        ${expiresDays === undefined ? tx`` : tx`, expires_days = ${expiresDays}`}
    WHERE bucket_id = ${bucketId}`;
}

/** Record that a vector store was used just now. */
export async function touchVectorStore(sql: Sql, bucketId: string): Promise<void> {
  await sql`UPDATE vector_stores SET last_active_at = now() WHERE bucket_id = ${bucketId}`;
}

/** Expired vector store that has something to delete. */
export interface ExpiredStore {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  /** True to delete the store itself, not only its files. */
  readonly isForgotten: boolean;
}

/** Find expired vector stores of all organizations that have files or that expired more than `keptDays` ago. */
export async function selectExpiredStores(sql: Sql, keptDays: number, limit: number): Promise<ExpiredStore[]> {
  return sql<ExpiredStore[]>`${expiredStores(sql, keptDays)} LIMIT ${limit}`;
}

/** Check whether a vector store is still expired. Lock its bucket before the call. */
export async function findExpiredStore(tx: Sql, keptDays: number, bucketId: string): Promise<ExpiredStore | null> {
  const [store] = await tx<ExpiredStore[]>`
    ${expiredStores(tx, keptDays)} AND vector_stores.bucket_id = ${bucketId}`;
  return store ?? null;
}

function expiredStores(sql: Sql, keptDays: number): SqlFragment {
  const isForgotten = sql`${expiresAt(sql)} < now() - ${keptDays} * interval '1 day'`;
  return sql`
    SELECT buckets.id, buckets.org_id AS "orgId", buckets.name, ${isForgotten} AS "isForgotten"
    FROM vector_stores JOIN buckets ON buckets.id = vector_stores.bucket_id
    WHERE expires_days IS NOT NULL AND buckets.deleting_at IS NULL AND ${expiresAt(sql)} <= now()
      AND ${isStaying(sql, 'buckets.org_id')} AND (${isForgotten} OR EXISTS (
        SELECT 1 FROM documents WHERE documents.bucket_id = buckets.id AND documents.status <> 'deleting'))`;
}
