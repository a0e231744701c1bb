import type { Caller } from '../../access/caller.ts';
import { readableBy } from '../../documents/visibility.ts';
import { unprepared } from '../../platform/postgres/unprepared.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { Filter } from '../filter/filter.ts';
import { type FilterUse, filterSql, isOfCommonShape } from '../filter/filter-sql.ts';

/** Search conditions on documents, in addition to the caller's rights. */
export interface DocumentScope {
  readonly bucketIds: readonly string[];
  readonly collectionId: string | null;
  readonly filter: Filter | null;
  /** Further condition on documents. */
  readonly condition?: DocumentCondition | undefined;
}

/** Condition on a row of `documents` that no filter can express. */
export type DocumentCondition = (sql: Sql) => SqlFragment;

/** Document that the caller may find, with the active generation of its chunks. */
export interface LiveDocument {
  readonly bucketId: string;
  readonly generation: number;
  /** True if the document has no vectors. */
  readonly isKeywordOnly: boolean;
}

/** Document details that results show. */
export interface DocumentDetails {
  readonly fileName: string;
  readonly sourcePath: string | null;
  readonly metadata: Record<string, string>;
}

/**
 * Return those of the documents whose chunks the caller may see now, according to PostgreSQL. `DocumentCopy` answers
 * the same question in memory. No other code may decide whether a caller may see a chunk. Show only chunks of the
 * returned generation.
 */
export async function findLiveDocuments(
  sql: Sql,
  caller: Caller,
  scope: DocumentScope,
  documentIds: readonly string[],
): Promise<Map<string, LiveDocument>> {
  const columns = sql`bucket_id AS "bucketId", active_generation AS generation, keyword_only AS "isKeywordOnly"`;
  return selectAmong<LiveDocument>(sql, caller, scope, documentIds, columns);
}

/** Read the details to show for those of the documents that the caller may see now. */
export async function readDocumentDetails(
  sql: Sql,
  caller: Caller,
  scope: DocumentScope,
  documentIds: readonly string[],
): Promise<Map<string, DocumentDetails>> {
  const columns = sql`file_name AS "fileName", source_path AS "sourcePath", metadata`;
  return selectAmong<DocumentDetails>(sql, caller, scope, documentIds, columns);
}

/** Select columns of those of the given documents that are within the scope, by id. */
async function selectAmong<Facts extends object>(
  sql: Sql,
  caller: Caller,
  scope: DocumentScope,
  documentIds: readonly string[],
  columns: SqlFragment,
): Promise<Map<string, Facts>> {
  if (documentIds.length === 0) return new Map();
  const query = sql<({ id: string } & Facts)[]>`
    SELECT id, ${columns} FROM documents
    WHERE id = ANY(${sql.array([...documentIds])}::text[]) AND ${live(sql, caller, scope, 'check')}`;
  const rows = await (isOfRareShape(scope) ? unprepared(query) : query);
  return new Map(rows.map(({ id, ...facts }) => [id, facts as unknown as Facts]));
}

/** List the ids of documents within the scope; null if there are more than `limit`. */
export async function listLiveDocumentIds(
  sql: Sql,
  caller: Caller,
  scope: DocumentScope,
  limit: number,
): Promise<string[] | null> {
  const query = sql`SELECT id FROM documents WHERE ${live(sql, caller, scope, 'list')} LIMIT ${limit + 1}`;
  // The best plan depends on the values of the filter.
  const rows = await (isFiltered(scope) ? unprepared(query) : query);
  return rows.length > limit ? null : rows.map((row) => row['id'] as string);
}

/** Return true if queries of such scopes vary too much in text to keep prepared statements. */
function isOfRareShape({ filter, condition }: DocumentScope): boolean {
  return condition !== undefined || (filter !== null && !isOfCommonShape(filter));
}

/** Return true if the scope restricts documents by more than buckets and a collection. */
export function isFiltered({ filter, condition }: DocumentScope): boolean {
  return filter !== null || condition !== undefined;
}

function live(sql: Sql, caller: Caller, scope: DocumentScope, use: FilterUse) {
  return sql`
    documents.org_id = ${caller.orgId} AND ${inBuckets(sql, scope.bucketIds)}
    AND ${isSearched(sql)} AND ${readableBy(sql, caller)}
    ${scope.collectionId === null ? sql`` : sql`AND documents.collection_id = ${scope.collectionId}`}
    ${scope.filter === null ? sql`` : sql`AND ${filterSql(sql, scope.filter, use)}`}
    ${scope.condition === undefined ? sql`` : sql`AND ${scope.condition(sql)}`}`;
}

/** Build the condition that searches find a row of `documents`, if the caller may read it. */
export function isSearched(sql: Sql): SqlFragment {
  return sql`documents.active_generation IS NOT NULL AND documents.searchable AND documents.status <> 'deleting'`;
}

function inBuckets(sql: Sql, ids: readonly string[]) {
  const [only] = ids;
  if (ids.length === 1 && only !== undefined) return sql`documents.bucket_id = ${only}`;
  return sql`documents.bucket_id = ANY(${sql.array([...ids])}::text[])`;
}
