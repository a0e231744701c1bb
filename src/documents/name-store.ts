import type { Caller } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import type { DocumentView } from './schema.ts';
import { lastJobColumns, toDocument } from './store.ts';
import { visibleTo } from './visibility.ts';

/** Find the documents of a bucket by id, else by source path, else by file name; newest first. */
export async function findNamedDocuments(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  name: string,
  rowsMax: number,
): Promise<DocumentView[]> {
  const rows = await sql`
    WITH named AS (
      SELECT documents.*, ${lastJobColumns(sql)},
             CASE WHEN id = ${name} THEN 0 WHEN source_path = ${name} THEN 1 ELSE 2 END AS closeness
      FROM documents
      WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND ${visibleTo(sql, caller)}
        AND (id = ${name} OR (md5(source_path) = md5(${name}) AND source_path = ${name}) OR file_name = ${name}))
    SELECT * FROM named WHERE closeness = (SELECT min(closeness) FROM named) ORDER BY id DESC LIMIT ${rowsMax}`;
  return rows.map((row) => toDocument(row));
}

/** Find the newest job of each document, by document id. */
export async function findLastJobs(sql: Sql, orgId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql`
    SELECT DISTINCT ON (document_id) document_id, id FROM jobs
    WHERE org_id = ${orgId} AND document_id = ANY(${sql.array([...ids])}::text[])
    ORDER BY document_id, created_at DESC, id DESC`;
  return new Map(rows.map((row) => [row['document_id'] as string, row['id'] as string]));
}
