import type { Caller } from '../access/caller.ts';
import type { IngestOptions } from '../documents/schema.ts';
import { lastJobColumns } from '../documents/store.ts';
import { readableBy, visibleTo } from '../documents/visibility.ts';
import { jsonText } from '../platform/postgres/records.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { Attributes } from './attributes.ts';
import { pageOrder } from './page-order.ts';
import type { FileState, StoreFilesQuery } from './schema.ts';
import { fileState } from './vector-stores-store.ts';

/** Document in the role of a file of a vector store. */
export interface StoreFile {
  /** Client-facing id: that of the original file, or else that of the document. */
  readonly id: string;
  readonly documentId: string;
  readonly state: FileState;
  readonly sizeBytes: number;
  readonly createdAt: Date;
  readonly options: IngestOptions;
  readonly metadata: Readonly<Record<string, string>>;
  readonly scalars: Attributes;
  readonly error: { readonly category: string | null; readonly message: string | null };
}

/** Serialise additions of files to a vector store until the transaction ends. */
export async function lockStoreFiles(tx: Sql, bucketId: string): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${bucketId}/files`}, 0))`;
}

/** Find a file of a bucket that the caller may see, by its own id or its document's id. */
export async function selectStoreFile(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  id: string,
): Promise<StoreFile | null> {
  const [row] = await sql<Row[]>`
    ${selectFiles(sql, caller, bucketId)}
      AND documents.id = coalesce((
        SELECT document_id FROM vector_store_files WHERE bucket_id = ${bucketId} AND file_id = ${id}), ${id})`;
  return row ? toFile(row) : null;
}

/** Read a file that the caller has just added, even if its access policy now hides it from the caller. */
export async function selectAddedFile(tx: Sql, orgId: string, documentId: string): Promise<StoreFile> {
  const [row] = await tx<[Row]>`
    SELECT ${columns(tx)} FROM documents LEFT JOIN vector_store_files own ON own.document_id = documents.id
    WHERE documents.org_id = ${orgId} AND documents.id = ${documentId}`;
  return toFile(row);
}

/** File that is already in a vector store. */
export interface PresentFile extends StoreFile {
  readonly isReadable: boolean;
}

/** Return those of the files that are in a bucket, including those that the caller may not see. */
export async function selectPresent(
  tx: Sql,
  caller: Caller,
  bucketId: string,
  fileIds: readonly string[],
): Promise<PresentFile[]> {
  const rows = await tx<(Row & { readonly isReadable: boolean })[]>`
    SELECT ${columns(tx)}, (${readableBy(tx, caller)}) IS TRUE AS "isReadable"
    FROM vector_store_files own JOIN documents ON documents.id = own.document_id
    WHERE own.bucket_id = ${bucketId} AND own.file_id = ANY(${tx.array([...fileIds])}::text[])
      AND documents.status <> 'deleting'`;
  return rows.map(({ isReadable, ...row }) => ({ ...toFile(row), isReadable }));
}

/** Selection of files, and a page of it. */
export interface ListedFiles {
  readonly bucketId: string;
  /** Ids of the documents to list; absent for the whole bucket. */
  readonly documentIds?: readonly string[] | undefined;
  /** Page of the list, with document ids in place of file ids. */
  readonly query: StoreFilesQuery;
}

/** List files of a bucket that the caller may see: one more than the query's limit. */
export async function selectStoreFiles(sql: Sql, caller: Caller, listed: ListedFiles): Promise<StoreFile[]> {
  const { bucketId, documentIds, query } = listed;
  const { condition, clauses } = pageOrder(sql, sql`documents.id`, query);
  const rows = await sql<Row[]>`
    ${selectFiles(sql, caller, bucketId)}
      ${documentIds === undefined ? sql`` : sql`AND documents.id = ANY(${sql.array([...documentIds])}::text[])`}
      ${query.filter === undefined ? sql`` : sql`AND ${fileState(sql)} = ${query.filter}`}
      AND ${condition} ${clauses}`;
  return rows.map(toFile);
}

/** Return the document id of a file that is or was in a bucket. */
export async function selectDocumentId(sql: Sql, bucketId: string, fileId: string): Promise<string | null> {
  const [row] = await sql`
    SELECT document_id FROM vector_store_files WHERE bucket_id = ${bucketId} AND file_id = ${fileId}`;
  return row ? (row['document_id'] as string) : null;
}

/** Client-facing id of a file, and the numbers and booleans among its attributes. */
export interface FileIdentity {
  readonly fileId: string;
  readonly scalars: Attributes;
}

/** Return the identities of these documents. A document without a row is identified by its own id. */
export async function selectIdentities(sql: Sql, documentIds: readonly string[]): Promise<Map<string, FileIdentity>> {
  const rows = await sql<NewIdentity[]>`
    SELECT document_id AS "documentId", file_id AS "fileId", scalars FROM vector_store_files
    WHERE document_id = ANY(${sql.array([...documentIds])}::text[])`;
  return new Map(rows.map(({ documentId, ...identity }) => [documentId, identity]));
}

/** Identity of a bucket's document. */
export interface NewIdentity extends FileIdentity {
  readonly documentId: string;
}

/** Write the identities of documents. Replace earlier ones with the same file ids. */
export async function writeIdentities(tx: Sql, bucketId: string, files: readonly NewIdentity[]): Promise<void> {
  const rows = files.map(({ fileId: file_id, documentId: document_id, scalars }) => ({
    file_id,
    document_id,
    scalars,
  }));
  await tx`
    INSERT INTO vector_store_files (bucket_id, file_id, document_id, scalars)
    SELECT ${bucketId}, new.file_id, new.document_id, new.scalars
    FROM jsonb_to_recordset(${jsonText(rows)}::text::jsonb) AS new (file_id text, document_id text, scalars jsonb)
    ON CONFLICT (bucket_id, file_id) DO UPDATE
      SET document_id = excluded.document_id, scalars = excluded.scalars, removed_at = NULL`;
}

/**
 * Erase the attributes of deleted documents, and return their file ids. Keep the ids for a day, since clients may use
 * them as list cursors.
 */
export async function eraseAttributesOf(tx: Sql, documentIds: readonly string[]): Promise<string[]> {
  const rows = await tx`
    UPDATE vector_store_files SET scalars = '{}', removed_at = coalesce(removed_at, now())
    WHERE document_id = ANY(${tx.array([...documentIds])}::text[]) RETURNING file_id`;
  return rows.map((row) => row['file_id'] as string);
}

/** Delete the ids of documents that were deleted more than a day ago. */
export async function deleteOldIdentities(sql: Sql): Promise<void> {
  await sql`DELETE FROM vector_store_files WHERE removed_at < now() - interval '1 day'`;
}

function selectFiles(sql: Sql, caller: Caller, bucketId: string): SqlFragment {
  return sql`
    SELECT ${columns(sql)} FROM documents LEFT JOIN vector_store_files own ON own.document_id = documents.id
    WHERE documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId} AND ${visibleTo(sql, caller)}`;
}

function columns(sql: Sql): SqlFragment {
  return sql`
    coalesce(own.file_id, documents.id) AS id, documents.id AS "documentId", ${fileState(sql)} AS state,
    documents.size_bytes AS "sizeBytes", documents.created_at AS "createdAt", documents.ingest_options AS options,
    documents.metadata, coalesce(own.scalars, '{}') AS scalars, documents.error_message, ${lastJobColumns(sql)}`;
}

type Row = Omit<StoreFile, 'error'> & {
  readonly error_category: string | null;
  readonly error_message: string | null;
};

function toFile({ error_category: category, error_message: message, ...file }: Row): StoreFile {
  return { ...file, error: { category, message } };
}
