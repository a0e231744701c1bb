import { isDeepStrictEqual } from 'node:util';
import { type Caller, requireScope } from '../access/caller.ts';
import { removeDocumentsOf } from '../documents/documents.ts';
import type { BucketView, IngestOptions } from '../documents/schema.ts';
import { requireStorage } from '../documents/storage-limit.ts';
import { type FileRow, lockFiles } from '../files/files-store.ts';
import { registerStored, type WantedUpload } from '../ingest/register-upload.ts';
import { FileName, UploadRequest } from '../ingest/schema.ts';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { fileNameOf } from '../platform/printable.ts';
import { type Attributes, scalarsOf } from './attributes.ts';
import { type ChunkingStrategy, ingestOptionsOf } from './chunking.ts';
import type { VectorStoreContext } from './context.ts';
import { lockStoreFiles, type PresentFile, selectPresent, writeIdentities } from './store-files-store.ts';
import { touchVectorStore } from './vector-stores-store.ts';

/** File that a request adds to a vector store. */
export interface WantedFile {
  readonly fileId: string;
  readonly attributes?: Attributes | null | undefined;
  readonly chunking?: ChunkingStrategy | undefined;
  /** Request field that names the file. */
  readonly param: string;
}

/** Wanted file, with the data for its document. */
interface Planned {
  readonly wanted: WantedFile;
  readonly file: FileRow;
  readonly options: IngestOptions;
  readonly request: UploadRequest;
  readonly present: PresentFile | undefined;
}

const PURPOSES: ReadonlySet<string> = new Set(['assistants', 'user_data']);

/**
 * Add files to a vector store: each becomes an ingest job and a document that shares the bytes of the file. A file that
 * is already in the store with the same attributes and chunking is kept, unless it failed. Otherwise the new document
 * replaces the old one.
 *
 * @param bucket locked until the transaction ends
 * @returns ids of the documents
 * @throws AppError `file_not_found` (404), `scope_missing` (403), `storage_quota_exceeded` (402), `file_in_store` (409)
 *   for a document that the caller may not see, and the errors of `registerStored`
 */
export async function attachFiles(
  { plans }: Pick<VectorStoreContext, 'plans'>,
  tx: Sql,
  caller: Caller,
  bucket: BucketView,
  wanted: readonly WantedFile[],
): Promise<string[]> {
  // Searches return the text of files, which otherwise needs the scope `embed`.
  for (const scope of ['documents:write', 'embed'] as const) requireScope(caller, scope);
  const distinct = distinctFiles(wanted);
  await lockStoreFiles(tx, bucket.id);
  const planned = await plan(tx, caller, bucket.id, distinct);
  const added = planned.filter((each) => !isUnchanged(each));
  const uploads = new Map(added.map((each) => [each.wanted.fileId, uploadOf(each)]));
  const replaced = added.flatMap(({ present }) => (present === undefined ? [] : [present]));
  if (added.length > 0) {
    const bytes = sumOf(added.map(({ file }) => file)) - sumOf(replaced);
    const keys = added.map(({ file }) => file.objectKey);
    await requireStorage(tx, caller, bytes, plans[caller.plan]?.storageBytes ?? null, keys);
    const replacedIds = replaced.map(({ documentId }) => documentId);
    await removeDocumentsOf(tx, caller.orgId, replacedIds);
    await registerStored(tx, caller, bucket, [...uploads.values()]);
    const identities = added.map(({ wanted: { fileId, attributes } }) => ({
      fileId,
      documentId: uploads.get(fileId)?.upload.id as string,
      scalars: scalarsOf(attributes ?? {}),
    }));
    await writeIdentities(tx, bucket.id, identities);
  }
  await touchVectorStore(tx, bucket.id);
  return planned.map(({ wanted: { fileId }, present }) => {
    return uploads.get(fileId)?.upload.id ?? (present as PresentFile).documentId;
  });
}

/** Remove repeated files. @throws AppError 400 for a file that is listed with different attributes or chunking */
function distinctFiles(wanted: readonly WantedFile[]): WantedFile[] {
  const byId = new Map<string, WantedFile>();
  for (const each of wanted) {
    const { param, ...file } = each;
    const { param: _, ...first } = byId.get(file.fileId) ?? each;
    if (!isDeepStrictEqual(file, first)) {
      throw invalidRequest(`${param}: the file ${file.fileId} is named twice, with different fields`, param);
    }
    if (!byId.has(file.fileId)) byId.set(file.fileId, each);
  }
  return [...byId.values()];
}

async function plan(tx: Sql, caller: Caller, bucketId: string, wanted: readonly WantedFile[]): Promise<Planned[]> {
  const ids = wanted.map(({ fileId }) => fileId);
  const files = new Map((await lockFiles(tx, caller, ids)).map((file) => [file.id, file]));
  const present = new Map((await selectPresent(tx, caller, bucketId, ids)).map((each) => [each.id, each]));
  return wanted.map((each) => ({
    wanted: each,
    file: requireAttachable(files.get(each.fileId), each),
    options: ingestOptionsOf(each.chunking),
    request: requestOf(each),
    present: requireReadable(present.get(each.fileId), each),
  }));
}

function requestOf({ attributes, chunking }: WantedFile): UploadRequest {
  const { chunk_size, chunk_overlap } = ingestOptionsOf(chunking);
  return { ...UploadRequest.parse({ metadata: attributes ?? {} }), chunk_size, chunk_overlap };
}

function requireAttachable(file: FileRow | undefined, { fileId, param }: WantedFile): FileRow {
  if (file === undefined) {
    const message = `${param}: file not found: ${fileId}`;
    throw new AppError({ code: 'file_not_found', status: 404, message, param });
  }
  if (!PURPOSES.has(file.purpose)) {
    const message = `${param}: the purpose of the file is "${file.purpose}", not "assistants" or "user_data"`;
    throw invalidRequest(message, param);
  }
  if (file.sha256 === null) {
    throw invalidRequest(`${param}: the file was uploaded with an earlier release; upload it again`, param);
  }
  return file;
}

function requireReadable(present: PresentFile | undefined, { param }: WantedFile): PresentFile | undefined {
  if (present === undefined || present.isReadable) return present;
  throw conflict(`${param}: the file is already in the vector store, but you may not see it there`, 'file_in_store');
}

function isUnchanged({ wanted, options, request, present }: Planned): boolean {
  if (present === undefined || present.state === 'failed' || present.state === 'cancelled') return false;
  const { scope, ...metadata } = request.metadata ?? {};
  return (
    scope === undefined &&
    isDeepStrictEqual(present.metadata, metadata) &&
    isDeepStrictEqual(present.scalars, scalarsOf(wanted.attributes ?? {})) &&
    isDeepStrictEqual(present.options, options)
  );
}

function uploadOf({ file, request }: Planned): WantedUpload {
  const name = FileName.safeParse(fileNameOf(file.fileName));
  const sha256 = (file.sha256 as Buffer).toString('hex');
  return {
    upload: {
      id: newId('doc'),
      isReplacement: false,
      key: file.objectKey,
      stored: { sizeBytes: file.sizeBytes, sha256 },
      content: { fileName: name.data ?? file.id, contentType: null },
      workflowId: null,
      storageBytesMax: null,
    },
    request,
    collectionId: null,
  };
}

function sumOf(files: readonly { readonly sizeBytes: number }[]): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
