import type { Caller } from '../access/caller.ts';
import type { DocumentView } from '../documents/schema.ts';
import { toDocument } from '../documents/store.ts';
import { readableBy, visibleTo } from '../documents/visibility.ts';
import { invalidRequest } from '../platform/errors.ts';
import { unprepared } from '../platform/postgres/unprepared.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { isNarrowed, matchSql } from './statement/plan.ts';
import type { Condition } from './statement/syntax.ts';

/** Time limit of a query for matches. Only conditions without index support take that long. */
const MATCHING_MS = 10_000;
/** SQLSTATE query_canceled, here caused by `statement_timeout` (PostgreSQL manual, appendix A). */
const QUERY_CANCELED = '57014';

/** Documents on which a condition is evaluated. */
export interface MatchScope {
  readonly caller: Caller;
  readonly bucketId: string;
  /** Condition; null to select every document of the bucket. */
  readonly where: Condition | null;
}

/**
 * Find the documents that match the condition and that the caller may see, oldest first.
 *
 * @throws AppError `statement_timeout` (400)
 */
export function selectVisibleMatches(sql: Sql, scope: MatchScope, rowsMax: number): Promise<DocumentView[]> {
  return inMatchingTime(sql, async (tx) => {
    const rows = await unprepared(visibleMatches(tx, scope, rowsMax));
    return rows.map((row) => toDocument(row));
  });
}

/** Document matched by a change. */
export interface ChangeMatch {
  readonly id: string;
  /** True if the change would modify it. */
  readonly isPending: boolean;
}

/**
 * Find the documents that match the condition and that the caller may read. Return pending ones first, then those that
 * changed longest ago, so that a repeated change makes progress. Include documents that are being deleted, since
 * changes report how many they skipped.
 *
 * @param pending builds the condition that a document is pending
 * @throws AppError `statement_timeout` (400)
 */
export function selectChangeMatches(
  sql: Sql,
  { caller, bucketId, where }: MatchScope,
  pending: (sql: Sql) => SqlFragment,
  rowsMax: number,
): Promise<ChangeMatch[]> {
  return inMatchingTime(sql, async (tx) => {
    const matching = where === null ? tx`true` : matchSql(tx, bucketId, where);
    return unprepared(tx<ChangeMatch[]>`
      SELECT id, ${pending(tx)} AS "isPending" FROM documents
      WHERE documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId} AND ${readableBy(tx, caller)}
        AND ${matching}
      ORDER BY "isPending" DESC, updated_at, id LIMIT ${rowsMax}`);
  });
}

/** Find the file names of documents, by id. Omit documents that the caller may not see. */
export async function findFileNames(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql`
    SELECT id, file_name FROM documents
    WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND id = ANY(${sql.array([...ids])}::text[])
      AND ${visibleTo(sql, caller)}`;
  return new Map(rows.map((row) => [row['id'] as string, row['file_name'] as string]));
}

/** Return true if a document exists and the caller may read it, even while it is being deleted. */
export async function isReadable(sql: Sql, caller: Caller, documentId: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM documents WHERE org_id = ${caller.orgId} AND id = ${documentId} AND ${readableBy(sql, caller)}`;
  return rows.length > 0;
}

/** Explain the query plan of `selectVisibleMatches`. */
export function explainVisibleMatches(sql: Sql, scope: MatchScope, rowsMax: number): Promise<string> {
  return inMatchingTime(sql, async (tx) => {
    const rows = await unprepared(tx`EXPLAIN (ANALYZE) ${visibleMatches(tx, scope, rowsMax)}`);
    return rows.map((row) => row['QUERY PLAN'] as string).join('\n');
  });
}

function visibleMatches(sql: Sql, { caller, bucketId, where }: MatchScope, rowsMax: number) {
  const visible = sql`
    documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId} AND ${visibleTo(sql, caller)}`;
  return firstMatches(sql, bucketId, visible, where, rowsMax);
}

/**
 * Build the query for the first matches. If an index narrows the condition, find all matches first, then sort them.
 * Otherwise a limit would let the planner scan documents in order, reading all of a large bucket for a few matches.
 */
function firstMatches(sql: Sql, bucketId: string, among: SqlFragment, where: Condition | null, rowsMax: number) {
  const matching = where === null ? among : sql`${among} AND ${matchSql(sql, bucketId, where)}`;
  if (where === null || !isNarrowed(where)) {
    return sql`SELECT * FROM documents WHERE ${matching} ORDER BY id LIMIT ${rowsMax}`;
  }
  return sql`
    WITH matches AS MATERIALIZED (SELECT id FROM documents WHERE ${matching})
    SELECT * FROM documents WHERE id IN (SELECT id FROM matches ORDER BY id LIMIT ${rowsMax}) ORDER BY id`;
}

async function inMatchingTime<T>(sql: Sql, fn: (tx: Sql) => Promise<T>): Promise<T> {
  try {
    return await sql.begin(async (tx) => {
      // This memory holds the bitmap of matches in a large bucket. With too little, PostgreSQL recomputes the terms of
      // every document on a page.
      await tx`SELECT set_config('statement_timeout', ${String(MATCHING_MS)}, true), set_config('work_mem', '64MB', true)`;
      return fn(tx);
    });
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== QUERY_CANCELED) throw error;
    throw invalidRequest(
      `finding the matches took more than ${MATCHING_MS / 1000} seconds; narrow the condition with =, IN or LIKE 'prefix%'`,
      'statement',
      'statement_timeout',
    );
  }
}
