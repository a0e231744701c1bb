import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { type Reader, visibleTo } from './visibility.ts';

/**
 * Build the condition that one of these documents exists and the caller may not read it now. Whatever was derived from
 * it while the caller still could must not be shown again.
 *
 * @param ids array of ids: a value, or a column of the surrounding query
 */
export function hiddenAmong(sql: Sql, caller: Reader & { readonly orgId: string }, ids: SqlFragment): SqlFragment {
  return sql`EXISTS (
    SELECT 1 FROM documents
    WHERE documents.org_id = ${caller.orgId} AND documents.id = ANY(${ids}) AND NOT (${visibleTo(sql, caller)}))`;
}

/** Return true if one of these documents is gone or the caller may not read it now. */
export async function isAnyUnreadable(
  sql: Sql,
  caller: Reader & { readonly orgId: string },
  documentIds: readonly string[],
): Promise<boolean> {
  if (documentIds.length === 0) return false;
  const ids = [...new Set(documentIds)];
  const [row] = await sql<[{ readable: number }]>`
    SELECT count(*)::int AS readable FROM documents
    WHERE documents.org_id = ${caller.orgId} AND documents.id = ANY(${sql.array(ids)}::text[])
      AND ${visibleTo(sql, caller)}`;
  return row.readable < ids.length;
}

/** List the document ids in a JSON value. */
export function documentIdsIn(value: unknown): string[] {
  return [...new Set(JSON.stringify(value ?? null).match(/doc_[0-9a-z]+/g))];
}
