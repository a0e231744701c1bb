import type { Caller } from '../access/caller.ts';
import { readsEverything, visibleTo } from '../documents/visibility.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { ListFilesQuery, Purpose } from './file-schema.ts';

export interface FileRow {
  readonly id: string;
  readonly orgId: string;
  readonly purpose: Purpose;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly objectKey: string;
  /** Null for a file from an earlier release. */
  readonly sha256: Buffer | null;
  readonly createdAt: Date;
  /** Null for a file without expiry. */
  readonly expiresAt: Date | null;
}

type Row = Record<string, unknown>;

/** @param lifetimeSeconds null for no expiry */
export async function insertFile(
  sql: Sql,
  file: Omit<FileRow, 'createdAt' | 'expiresAt'> & { readonly lifetimeSeconds: number | null },
): Promise<FileRow> {
  const [row] = await sql`
    INSERT INTO files (id, org_id, purpose, file_name, size_bytes, object_key, sha256, expires_at)
    VALUES (${file.id}, ${file.orgId}, ${file.purpose}, ${file.fileName}, ${file.sizeBytes}, ${file.objectKey},
            ${file.sha256}, now() + ${file.lifetimeSeconds}::double precision * interval '1 second')
    RETURNING *`;
  return toFile(row as Row);
}

/** Read a file; null if the caller sees no file with this id, or if it has expired. */
export async function selectFile(sql: Sql, caller: Caller, id: string): Promise<FileRow | null> {
  const [row] = await sql`
    SELECT * FROM files WHERE org_id = ${caller.orgId} AND id = ${id} AND ${isVisible(sql, caller)}`;
  return row ? toFile(row) : null;
}

/** Read those of the files that the caller sees, and protect them from deletion until the transaction ends. */
export async function lockFiles(tx: Sql, caller: Caller, ids: readonly string[]): Promise<FileRow[]> {
  const rows = await tx`
    SELECT * FROM files
    WHERE org_id = ${caller.orgId} AND id = ANY(${tx.array([...ids])}::text[]) AND ${isVisible(tx, caller)}
    ORDER BY id FOR SHARE`;
  return rows.map(toFile);
}

/**
 * List one file more than the query's limit, so that the caller can see if more follow. The order is that of the ids,
 * so that a page also follows a deleted file. The id of a batch's output is as old as its first line.
 */
export async function selectFiles(sql: Sql, caller: Caller, query: ListFilesQuery): Promise<FileRow[]> {
  const { orgId } = caller;
  const isDown = query.order === 'desc';
  const rows = await sql`
    SELECT * FROM files WHERE org_id = ${orgId} AND ${isVisible(sql, caller)}
      ${query.purpose === undefined ? sql`` : sql`AND purpose = ${query.purpose}`}
      ${query.after === undefined ? sql`` : sql`AND id ${isDown ? sql`<` : sql`>`} ${query.after}`}
    ORDER BY id ${isDown ? sql`DESC` : sql`ASC`} LIMIT ${query.limit + 1}`;
  return rows.map(toFile);
}

/** Delete the row of a file, and return its object key; null if there is no such file. */
export async function deleteFileRow(tx: Sql, orgId: string, id: string): Promise<string | null> {
  const [row] = await tx`
    DELETE FROM files WHERE org_id = ${orgId} AND id = ${id} AND ${isCurrent(tx)} RETURNING object_key`;
  return row ? (row['object_key'] as string) : null;
}

/** Delete rows of expired files, across all organizations. Return at most `limit` object keys. */
export async function deleteExpiredFiles(sql: Sql, limit: number): Promise<string[]> {
  const rows = await sql`
    DELETE FROM files WHERE id IN (SELECT id FROM files WHERE expires_at <= now() ORDER BY expires_at LIMIT ${limit})
    RETURNING object_key`;
  return rows.map((row) => row['object_key'] as string);
}

/** Select the object keys that a file, a document or an unfinished batch needs. */
export async function selectNeededKeys(sql: Sql, keys: readonly string[]): Promise<Set<string>> {
  const wanted = sql.array([...keys]);
  const rows = await sql`
    SELECT object_key AS key FROM files WHERE object_key = ANY(${wanted}::text[])
    UNION SELECT input_key FROM batches WHERE ended_at IS NULL AND input_key = ANY(${wanted}::text[])
    UNION SELECT object_key FROM documents WHERE object_key LIKE 'files/%' AND object_key = ANY(${wanted}::text[])
      AND (status <> 'deleting' OR hard_delete_job_id IS NOT NULL)`;
  return new Set(rows.map((row) => row['key'] as string));
}

/**
 * Build the condition that a file has not expired and that the caller sees it: no document has its bytes, or the caller
 * sees one that does.
 */
function isVisible(sql: Sql, caller: Caller): SqlFragment {
  if (readsEverything(caller)) return isCurrent(sql);
  const hasDocument = (condition: SqlFragment) => sql`EXISTS (
    SELECT 1 FROM documents
    WHERE documents.org_id = files.org_id AND documents.object_key = files.object_key
      AND documents.object_key LIKE 'files/%' AND ${condition})`;
  return sql`${isCurrent(sql)}
    AND (NOT ${hasDocument(sql`documents.status <> 'deleting'`)} OR ${hasDocument(visibleTo(sql, caller))})`;
}

function isCurrent(sql: Sql): SqlFragment {
  return sql`(expires_at IS NULL OR expires_at > now())`;
}

function toFile(row: Row): FileRow {
  return {
    id: row['id'] as string,
    orgId: row['org_id'] as string,
    purpose: row['purpose'] as Purpose,
    fileName: row['file_name'] as string,
    sizeBytes: Number(row['size_bytes']),
    objectKey: row['object_key'] as string,
    sha256: row['sha256'] as Buffer | null,
    createdAt: row['created_at'] as Date,
    expiresAt: row['expires_at'] as Date | null,
  };
}
