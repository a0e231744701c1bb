import type { Caller } from '../access/caller.ts';
import { deleteDocument } from '../documents/documents.ts';
import { findBucket, lockBucketPolicy } from '../documents/store.ts';
import { pageOf, unixSeconds } from '../files/list-page.ts';
import { readDocumentText, TEXT_CHARS_MAX } from '../ingest/document-text.ts';
import { notifyWorkers } from '../jobs/notifier.ts';
import { editDocument } from '../metadata/edit-document.ts';
import { invalidRequest, notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { attachFiles } from './attach-files.ts';
import { type Attributes, attributesOf, replacingEdit, scalarsOf } from './attributes.ts';
import { usedChunkingOf } from './chunking.ts';
import type { VectorStoreContext } from './context.ts';
import { pageOrder } from './page-order.ts';
import type { FileContentPage, StoreFileRequest, StoreFilesQuery, StoreFileView } from './schema.ts';
import {
  type ListedFiles,
  type StoreFile,
  selectAddedFile,
  selectDocumentId,
  selectStoreFile,
  selectStoreFiles,
  writeIdentities,
} from './store-files-store.ts';
import { requireLive } from './vector-stores.ts';
import { touchVectorStore } from './vector-stores-store.ts';

/** @throws AppError `bucket_not_found` (404), `vector_store_expired` (400), and the errors of `attachFiles` */
export async function addStoreFile(
  context: VectorStoreContext,
  caller: Caller,
  ref: string,
  { file_id: fileId, attributes, chunking_strategy: chunking }: StoreFileRequest,
): Promise<StoreFileView> {
  const { sql } = context;
  const { id } = await requireLive(sql, caller, ref);
  const file = await sql.begin(async (tx) => {
    const bucket = await lockBucketPolicy(tx, caller.orgId, id);
    const wanted = { fileId, attributes, chunking, param: 'file_id' };
    const [documentId = ''] = await attachFiles(context, tx, caller, bucket, [wanted]);
    return selectAddedFile(tx, caller.orgId, documentId);
  });
  await notifyWorkers(context, 'ingest');
  return viewOf(id, file);
}

/** @throws AppError `bucket_not_found`, `file_not_found` (404) */
export async function getStoreFile(sql: Sql, caller: Caller, ref: string, id: string): Promise<StoreFileView> {
  const { bucketId, file } = await findStoreFile(sql, caller, ref, id);
  return viewOf(bucketId, file);
}

/** @throws AppError `bucket_not_found` (404), 400 if the cursor's file is not in the store */
export async function listStoreFiles(sql: Sql, caller: Caller, ref: string, query: StoreFilesQuery) {
  const bucket = await findBucket(sql, caller, ref);
  return pageOfFiles(sql, caller, { bucketId: bucket.id, query });
}

/** Read a page of files. Its cursors are file ids. @throws AppError 400 for an unknown cursor */
export async function pageOfFiles(sql: Sql, caller: Caller, listed: ListedFiles) {
  const { bucketId, query } = listed;
  const [after, before] = await Promise.all(
    (['after', 'before'] as const).map((name) => documentOf(sql, bucketId, name, query[name])),
  );
  const files = await selectStoreFiles(sql, caller, { ...listed, query: { ...query, after, before } });
  const views = files.map((file) => viewOf(bucketId, file));
  return pageOf(views, query.limit, pageOrder(sql, sql``, query));
}

async function documentOf(
  sql: Sql,
  bucketId: string,
  name: 'after' | 'before',
  id: string | undefined,
): Promise<string | undefined> {
  if (id === undefined) return undefined;
  const documentId = (await selectDocumentId(sql, bucketId, id)) ?? (id.startsWith('doc_') ? id : null);
  if (documentId === null) throw invalidRequest(`${name}: the vector store has no file ${id}`, name);
  return documentId;
}

/**
 * Replace the attributes of a file.
 * @throws AppError `bucket_not_found`, `file_not_found` (404), and the errors of `editDocument`
 */
export async function editStoreFile(
  { sql, edits }: VectorStoreContext,
  caller: Caller,
  ref: string,
  id: string,
  attributes: Attributes,
): Promise<StoreFileView> {
  const { bucketId, file } = await findStoreFile(sql, caller, ref, id);
  await sql.begin(async (tx) => {
    const metadata = asMetadata(replacingEdit(file.metadata, attributes));
    await editDocument({ ...edits, sql: tx }, caller, bucketId, file.documentId, { metadata, reindex: false });
    const identity = { fileId: file.id, documentId: file.documentId, scalars: scalarsOf(attributes) };
    await writeIdentities(tx, bucketId, [identity]);
    await touchVectorStore(tx, bucketId);
  });
  return getStoreFile(sql, caller, bucketId, id);
}

function asMetadata(edit: Readonly<Record<string, string | number | boolean | null>>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(edit).map(([key, value]) => [key, value === null ? null : String(value).normalize('NFC')]),
  );
}

/**
 * Read a page of a file's extracted text.
 * @throws AppError `bucket_not_found`, `file_not_found` (404), `document_not_ready` (409)
 */
export async function readStoreFile(
  { sql, reading }: Pick<VectorStoreContext, 'sql' | 'reading'>,
  caller: Caller,
  file: { readonly ref: string; readonly id: string; readonly offset: number },
  signal: AbortSignal,
): Promise<FileContentPage> {
  const found = await findStoreFile(sql, caller, file.ref, file.id);
  const { text, next_offset: next } = await readDocumentText(
    { ...reading, sql },
    caller,
    { bucket: found.bucketId, document: found.file.documentId },
    { offset: file.offset, limit: TEXT_CHARS_MAX },
    signal,
  );
  return {
    object: 'vector_store.file_content.page',
    data: text === '' ? [] : [{ type: 'text', text }],
    has_more: next !== null,
    next_page: next === null ? null : String(next),
  };
}

/**
 * Remove a file from a vector store: delete its document, but keep the file itself.
 * @throws AppError `bucket_not_found`, `file_not_found` (404)
 */
export async function removeStoreFile(sql: Sql, caller: Caller, ref: string, id: string) {
  const { bucketId, file } = await findStoreFile(sql, caller, ref, id);
  await deleteDocument(sql, caller, bucketId, file.documentId);
  await touchVectorStore(sql, bucketId);
  return { id, object: 'vector_store.file.deleted' as const, deleted: true as const };
}

async function findStoreFile(sql: Sql, caller: Caller, ref: string, id: string) {
  const bucket = await findBucket(sql, caller, ref);
  const file = await selectStoreFile(sql, caller, bucket.id, id);
  if (file === null) throw notFound('file', id);
  return { bucketId: bucket.id, file };
}

const INVALID = new Set<string | null>(['encrypted', 'corrupt', 'too_large']);

function codeOf(category: string | null) {
  if (category === 'unsupported_type') return 'unsupported_file';
  return INVALID.has(category) ? 'invalid_file' : 'server_error';
}

function viewOf(bucketId: string, file: StoreFile): StoreFileView {
  const { state, error } = file;
  return {
    id: file.id,
    object: 'vector_store.file',
    created_at: unixSeconds(file.createdAt),
    vector_store_id: bucketId,
    usage_bytes: file.sizeBytes,
    status: state,
    last_error: state === 'failed' ? { code: codeOf(error.category), message: error.message ?? 'unknown' } : null,
    attributes: attributesOf(file.metadata, file.scalars),
    chunking_strategy: usedChunkingOf(file.options),
  };
}
