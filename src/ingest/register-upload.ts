import type { Caller } from '../access/caller.ts';
import { type AccessPolicy, accessAtUpload, clampAccess, requireOwnDepartment } from '../documents/access-policy.ts';
import { findVersionsOfPath } from '../documents/content-store.ts';
import { insertDocument, insertDocuments, type NewDocument } from '../documents/insert-store.ts';
import { type BucketPolicy, type BucketView, completeOptions } from '../documents/schema.ts';
import { requireStorage } from '../documents/storage-limit.ts';
import { findByContent, lockBucketPolicy, lockContent } from '../documents/store.ts';
import { enqueueJobs } from '../jobs/store.ts';
import { conflict, invalidRequest } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { replaceDocument } from './replace-document.ts';
import type { UploadReply, UploadRequest } from './schema.ts';
import { linkTo, newJobOf, queueIngest, type Registered, type StoredUpload } from './stored-upload.ts';
import type { UploadStatements } from './upload-store.ts';

/** Stored upload with its request. */
export interface WantedUpload {
  readonly upload: StoredUpload;
  readonly request: UploadRequest;
  readonly collectionId: string | null;
}

/** Upload with the fields that its document and job take from the request. */
interface Wanted extends WantedUpload {
  readonly scope: string | undefined;
  readonly metadata: Record<string, string>;
}

function wantedOf(given: WantedUpload): Wanted {
  const { scope, ...metadata } = textsOf(given.request.metadata);
  return { ...given, scope, metadata };
}

/** Return true if an upload depends only on its bucket and on documents with the same bytes or path. */
export function isPlainUpload(request: UploadRequest, storageBytesMax: number | null): boolean {
  return storageBytesMax === null && request.on_duplicate !== 'replace' && !request.collection_id;
}

/**
 * Write the document and job of a plain upload in one statement, in a fraction of the time of `registerInSteps`. Return
 * null without writing if the upload needs a decision or has to wait.
 * @param bucket bucket as last read
 */
export async function registerAtOnce(
  sql: Sql,
  statements: UploadStatements,
  caller: Caller,
  { bucket, bucketRef }: { bucket: BucketView; bucketRef: string },
  given: WantedUpload,
): Promise<Registered | null> {
  const wanted = wantedOf(given);
  const { upload, request, scope } = wanted;
  const { access, warnings } = accessOf(caller, bucket.policy, wanted);
  if (scope !== undefined && access.scope !== scope) return null;
  const document = newDocumentOf(caller, bucket.id, wanted, access);
  const job = newJobOf(caller, bucket.id, upload, wanted);
  const isWritten = await statements.insert(sql, caller, {
    bucket,
    bucketRef,
    document,
    job,
    isUnique: refusesDuplicates(request),
  });
  return isWritten ? { reply: replyOf(document, job.id, warnings), replacedKey: null } : null;
}

/**
 * Write the document and job of an upload in one transaction. It handles bytes that a document already has, and bytes
 * that replace a document's content.
 * @throws AppError as `uploadDocument`
 */
export function registerInSteps(
  sql: Sql,
  caller: Caller,
  { id: bucketId }: BucketView,
  given: WantedUpload,
): Promise<Registered> {
  const wanted = wantedOf(given);
  const { upload, request } = wanted;
  return sql.begin(async (tx) => {
    // Both statements are sent at once and run in this order.
    const [{ policy }, sameContent] = await Promise.all([
      lockBucketPolicy(tx, caller.orgId, bucketId),
      refusesDuplicates(request) ? findSameContent(tx, caller, bucketId, upload) : null,
    ]);
    if (request.on_duplicate === 'replace') {
      const replaced = await replaceDocument(tx, caller, bucketId, upload, { ...wanted, policy });
      if (replaced !== null) return replaced;
    }
    const { access, warnings } = checkedAccess(caller, policy, wanted);
    if (sameContent !== null) return { reply: replyOfDuplicate(bucketId, sameContent, request), replacedKey: null };
    await requireStorage(tx, caller, upload.stored.sizeBytes, upload.storageBytesMax);
    const older = await findOlder(tx, caller, bucketId, request);
    const document = newDocumentOf(caller, bucketId, wanted, access);
    const [, jobId] = await Promise.all([
      insertDocument(tx, document),
      queueIngest(tx, caller, bucketId, upload, wanted),
    ]);
    return { reply: replyOf(document, jobId, [...warnings, ...older]), replacedKey: null };
  });
}

/**
 * Write the documents and jobs of stored files in one transaction, without regard to other documents of the bucket.
 * @param bucket locked, so that its policy can't change
 * @returns ids of the jobs
 * @throws AppError `scope_not_yours` (403), 400 for a department that the bucket doesn't list
 */
export async function registerStored(
  tx: Sql,
  caller: Caller,
  { id: bucketId, policy }: BucketView,
  given: readonly WantedUpload[],
): Promise<string[]> {
  const all = given.map(wantedOf);
  for (const { scope } of all) requireOwnDepartment(caller, scope ?? null);
  const documents = all.map((wanted) =>
    newDocumentOf(caller, bucketId, wanted, checkedAccess(caller, policy, wanted).access),
  );
  await insertDocuments(tx, documents);
  const jobs = all.map((wanted) => newJobOf(caller, bucketId, wanted.upload, wanted));
  await enqueueJobs(tx, jobs);
  return jobs.map(({ id }) => id);
}

/** Compute the access policy of an upload. @throws AppError 400 for a department that the bucket doesn't list */
function checkedAccess(caller: Caller, policy: BucketPolicy, wanted: Wanted) {
  const clamped = accessOf(caller, policy, wanted);
  // An edit ignores such a scope. Here, ignoring it would show the document to every department.
  if (wanted.scope !== undefined && clamped.access.scope !== wanted.scope) {
    const listed = policy.departments?.join(', ');
    throw invalidRequest(`metadata.scope: must be one of the bucket's departments (${listed})`, 'metadata.scope');
  }
  return clamped;
}

function accessOf(caller: Caller, policy: BucketPolicy, { request, scope }: Wanted) {
  return clampAccess(accessAtUpload(policy), { ...request, scope }, caller, policy);
}

function replyOf({ id, bucketId, collectionId }: NewDocument, jobId: string, warnings: string[]): UploadReply {
  return { id, job_id: jobId, bucket_id: bucketId, collection_id: collectionId, status: 'queued', warnings };
}

function refusesDuplicates({ on_duplicate: onDuplicate }: UploadRequest): boolean {
  return onDuplicate !== 'allow' && onDuplicate !== 'replace';
}

/** Find the document with the same bytes. Make other uploads of these bytes wait until the transaction ends. */
async function findSameContent(tx: Sql, caller: Caller, bucketId: string, { stored }: StoredUpload) {
  const sha256 = Buffer.from(stored.sha256, 'hex');
  const [, found] = await Promise.all([lockContent(tx, bucketId, sha256), findByContent(tx, caller, bucketId, sha256)]);
  return found;
}

/** Build the response to an upload of bytes that a document already has. @throws AppError `duplicate_document` (409) */
function replyOfDuplicate(
  bucketId: string,
  duplicate: NonNullable<Awaited<ReturnType<typeof findByContent>>>,
  { on_duplicate: onDuplicate }: UploadRequest,
): UploadReply {
  if (onDuplicate === 'link') return linkTo(bucketId, duplicate);
  throw conflict(`the bucket already contains the same bytes as document ${duplicate.id}`, 'duplicate_document');
}

/** Warn about an older document with the same path, which is kept beside the new one. */
async function findOlder(tx: Sql, caller: Caller, bucketId: string, request: UploadRequest): Promise<string[]> {
  const { source_path: sourcePath, on_duplicate: onDuplicate } = request;
  if (!sourcePath || onDuplicate === 'replace') return [];
  const [older] = await findVersionsOfPath(tx, caller, bucketId, sourcePath);
  if (older === undefined) return [];
  return [
    `the bucket has an older document with this source_path, ${older.id}; to replace it, upload with on_duplicate "replace"`,
  ];
}

function newDocumentOf(caller: Caller, bucketId: string, wanted: Wanted, access: AccessPolicy): NewDocument {
  const { request, metadata, collectionId } = wanted;
  const { id, key, stored, content } = wanted.upload;
  return {
    id,
    orgId: caller.orgId,
    bucketId,
    collectionId,
    fileName: content.fileName,
    contentType: content.contentType,
    sizeBytes: stored.sizeBytes,
    sha256: Buffer.from(stored.sha256, 'hex'),
    objectKey: key,
    options: completeOptions(request),
    metadata,
    access,
    ownerDepartment: caller.department,
    uploadedByUserId: caller.userId,
    sourcePath: request.source_path ?? null,
  };
}

/** Return the metadata of an upload, without keys whose value is null. */
export function textsOf(metadata: UploadRequest['metadata'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).filter((entry): entry is [string, string] => entry[1] !== null));
}
