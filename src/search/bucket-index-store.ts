import type { Caller } from '../access/caller.ts';
import { type BucketUser, bucketNamed, bucketsOf } from '../documents/store.ts';
import { hidesFrom, readsEverything } from '../documents/visibility.ts';
import { type IndexTable, toIndexTable } from '../index/index-store.ts';
import { notFound } from '../platform/errors.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { changesSince, type DocumentChanges, toChanges } from './documents/copy-store.ts';
import type { Snapshot } from './documents/snapshot.ts';

/** Bucket with its index table; the table is null if nothing was ever indexed. */
export interface BucketIndex {
  readonly bucketId: string;
  readonly indexTable: IndexTable | null;
  /** Id of the last edit of the bucket's synonyms; null if it has none. */
  readonly synonymsEdit: string | null;
}

/**
 * Find a bucket by id or name, with its index table. A search needs nothing else to start.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function findBucketIndex(sql: Sql, caller: BucketUser, bucketRef: string): Promise<BucketIndex> {
  return toBucketIndex(await selectBucketIndex(sql, caller, bucketRef, sql`false AS hides`));
}

/** Bucket's index as seen by a caller. */
export interface CallersIndex {
  readonly index: BucketIndex;
  /** True if the bucket contains documents that the caller may not see. */
  readonly isHiding: boolean;
  /** Changes of the bucket's documents; null if not requested. */
  readonly changes: DocumentChanges | null;
}

/**
 * Find a bucket like `findBucketIndex`. In the same statement, read whether it contains documents that the caller may
 * not see, and the changes of its documents.
 *
 * @param since snapshot after which to read changes; null to read none
 * @throws AppError `bucket_not_found` (404)
 */
export async function findIndexForCaller(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  since: Snapshot | null = null,
): Promise<CallersIndex> {
  const { orgId } = caller;
  const id = sql`buckets.id`;
  const hides = readsEverything(caller) ? sql`false` : hidesFrom(sql, caller, { orgId, id });
  const changes = since === null ? sql`` : sql`, ${changesSince(sql, id, since)} AS changes`;
  const row = await selectBucketIndex(sql, caller, bucketRef, sql`${hides} AS hides${changes}`);
  return {
    index: toBucketIndex(row),
    isHiding: row['hides'] as boolean,
    changes: since === null ? null : toChanges(row['changes']),
  };
}

async function selectBucketIndex(sql: Sql, caller: BucketUser, bucketRef: string, more: SqlFragment) {
  const [row] = await sql`
    SELECT ${indexColumns(sql)}, ${more} FROM ${bucketsWithIndexes(sql)}
    WHERE ${bucketNamed(sql, caller, bucketRef)}`;
  if (!row) throw notFound('bucket', bucketRef);
  return row;
}

/**
 * Find buckets by id or name, with their index tables, ordered by name and without repeats.
 *
 * @throws AppError `bucket_not_found` (404) for the first missing one
 */
export async function findBucketIndexes(sql: Sql, caller: BucketUser, refs: readonly string[]): Promise<BucketIndex[]> {
  const wanted = sql.array([...refs]);
  const rows = await sql`
    SELECT buckets.name AS bucket, ${indexColumns(sql)} FROM ${bucketsWithIndexes(sql)}
    WHERE ${bucketsOf(sql, caller)}
      AND (buckets.id = ANY(${wanted}::text[]) OR buckets.name = ANY(${wanted}::text[]))`;
  const byId = new Map<string, BucketIndex>();
  for (const ref of refs) {
    const row = rows.find((each) => each['id'] === ref || each['bucket'] === ref);
    if (!row) throw notFound('bucket', ref);
    byId.set(row['id'] as string, toBucketIndex(row));
  }
  return [...byId.values()];
}

/** Return the columns of `bucketsWithIndexes` for `toBucketIndex`. */
function indexColumns(sql: Sql): SqlFragment {
  return sql`
    buckets.id, coalesce(table_name, index_tables.bucket_id) AS name, version, model, revision, space, leg_weights, edit_id`;
}

/** Return a FROM clause of buckets, joined with their index tables and any synonyms. */
function bucketsWithIndexes(sql: Sql): SqlFragment {
  return sql`
    buckets LEFT JOIN index_tables ON index_tables.bucket_id = buckets.id
    LEFT JOIN bucket_synonyms ON bucket_synonyms.bucket_id = buckets.id`;
}

function toBucketIndex(row: Readonly<Record<string, unknown>>): BucketIndex {
  return {
    bucketId: row['id'] as string,
    indexTable: row['name'] === null ? null : toIndexTable(row),
    synonymsEdit: row['edit_id'] as string | null,
  };
}
