import type { Caller } from '../access/caller.ts';
import { ACCESS_AT_UPLOAD, type AccessPolicy, clampAccess } from '../documents/access-policy.ts';
import { findVersionsOfPath } from '../documents/content-store.ts';
import type { BucketView } from '../documents/schema.ts';
import { findByContent, insertDocument, lockBucketPolicy, lockContent, type NewDocument } from '../documents/store.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { replaceDocument } from './replace-document.ts';
import type { UploadReply, UploadRequest } from './schema.ts';
import {
  ingestOptionsOf,
  linkTo,
  queueIngest,
  type Registered,
  requireStorage,
  type StoredUpload,
} from './stored-upload.ts';

/**
 * Write the document and the job of an upload whose bytes are stored, or find the document that has them already.
 *
 * @throws AppError as `uploadDocument`
 */
export function register(
  sql: Sql,
  caller: Caller,
  bucket: BucketView,
  collectionId: string | null,
  upload: StoredUpload,
  request: UploadRequest,
): Promise<Registered> {
  const { scope, ...metadata } = withoutNulls(request.metadata ?? {});
  return sql.begin(async (tx) => {
    // Sent together, and done in this order.
    const [{ policy }, sameContent] = await Promise.all([
      lockBucketPolicy(tx, caller.orgId, bucket.id),
      refusesDuplicates(request) ? findSameContent(tx, caller, bucket.id, upload) : null,
    ]);
    if (request.on_duplicate === 'replace') {
      const wanted = { request, scope, metadata, policy, collectionId };
      const replaced = await replaceDocument(tx, caller, bucket.id, upload, wanted);
      if (replaced !== null) return replaced;
    }
    const { access, warnings } = clampAccess(ACCESS_AT_UPLOAD, { ...request, scope }, caller, policy);
    // An edit ignores such a scope; here that would show the document to every department.
    if (scope !== undefined && access.scope !== scope) {
      const listed = policy.departments?.join(', ');
      throw invalidRequest(`metadata.scope: must be one of the bucket's departments (${listed})`, 'metadata.scope');
    }
    if (sameContent !== null) return { reply: replyOfDuplicate(bucket.id, sameContent, request), replacedKey: null };
    await requireStorage(tx, caller, upload.stored.sizeBytes, upload.storageBytesMax);
    const older = await findOlder(tx, caller, bucket.id, request);
    const [, jobId] = await Promise.all([
      insertDocument(tx, newDocumentOf(caller, bucket.id, upload, { request, metadata, access, collectionId })),
      queueIngest(tx, caller, bucket.id, upload, { request, metadata, collectionId }),
    ]);
    const reply = {
      ...{ id: upload.id, job_id: jobId, bucket_id: bucket.id, collection_id: collectionId },
      ...{ status: 'queued' as const, warnings: [...warnings, ...older] },
    };
    return { reply, replacedKey: null };
  });
}

function refusesDuplicates({ on_duplicate: onDuplicate }: UploadRequest): boolean {
  return onDuplicate !== 'allow' && onDuplicate !== 'replace';
}

/** Find the document with the same bytes. Other uploads of them wait until the transaction ends. */
async function findSameContent(tx: Sql, caller: Caller, bucketId: string, { stored }: StoredUpload) {
  const sha256 = Buffer.from(stored.sha256, 'hex');
  const [, found] = await Promise.all([lockContent(tx, bucketId, sha256), findByContent(tx, caller, bucketId, sha256)]);
  return found;
}

/** Answer the upload of bytes that a document has already. @throws AppError `duplicate_document` (409) */
function replyOfDuplicate(
  bucketId: string,
  duplicate: NonNullable<Awaited<ReturnType<typeof findByContent>>>,
  { on_duplicate: onDuplicate }: UploadRequest,
): UploadReply {
  if (onDuplicate === 'link') return linkTo(bucketId, duplicate);
  throw new AppError({
    code: 'duplicate_document',
    status: 409,
    message: `the bucket already contains the same bytes as document ${duplicate.id}`,
  });
}

/** Warn of an older document of the same path, which stays beside the new one. */
async function findOlder(tx: Sql, caller: Caller, bucketId: string, request: UploadRequest): Promise<string[]> {
  const { source_path: sourcePath, on_duplicate: onDuplicate } = request;
  if (!sourcePath || onDuplicate === 'replace') return [];
  const [older] = await findVersionsOfPath(tx, caller, bucketId, sourcePath);
  if (older === undefined) return [];
  return [`the bucket has an older document of this source_path, ${older.id}; on_duplicate "replace" replaces it`];
}

function newDocumentOf(
  caller: Caller,
  bucketId: string,
  { id, key, stored, content }: StoredUpload,
  given: {
    request: UploadRequest;
    metadata: Record<string, string>;
    access: AccessPolicy;
    collectionId: string | null;
  },
): NewDocument {
  const { request, metadata, access, collectionId } = given;
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
    options: ingestOptionsOf(request),
    metadata,
    access,
    ownerDepartment: caller.department,
    uploadedByUserId: caller.userId,
    sourcePath: request.source_path ?? null,
  };
}

function withoutNulls(metadata: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).filter((entry): entry is [string, string] => entry[1] !== null));
}
