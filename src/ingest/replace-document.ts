import { isDeepStrictEqual } from 'node:util';
import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { requireMetadataManager } from '../access/roles.ts';
import { clampAccess } from '../documents/access-policy.ts';
import {
  findVersionsOfPath,
  lockPath,
  type PathVersion,
  replaceContent,
  updateReplaced,
} from '../documents/content-store.ts';
import { removeDocumentsOf } from '../documents/documents.ts';
import { type BucketPolicy, completeOptions } from '../documents/schema.ts';
import { requireStorage } from '../documents/storage-limit.ts';
import { mergedMetadataFault } from '../documents/user-metadata.ts';
import { cancelJobsOfDocuments } from '../jobs/document-jobs-store.ts';
import { conflict, invalidRequest } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import type { UploadRequest } from './schema.ts';
import { linkTo, queueIngest, type Registered, type StoredUpload } from './stored-upload.ts';

/** Request of a replacing upload, with its parsed parts. */
export interface ReplaceRequest {
  readonly request: UploadRequest;
  readonly scope: string | undefined;
  readonly metadata: Record<string, string>;
  readonly policy: BucketPolicy;
  readonly collectionId: string | null;
}

/** Find the document whose content an upload replaces, before storing the bytes. Return its id, or null. */
export async function findReplaced(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  { on_duplicate: onDuplicate, source_path: sourcePath }: UploadRequest,
): Promise<string | null> {
  if (onDuplicate !== 'replace' || !sourcePath) return null;
  const [newest] = await findVersionsOfPath(sql, caller, bucketId, sourcePath);
  return newest?.id ?? null;
}

/**
 * Replace the content of the newest document at a path with the upload. The document keeps its id, metadata and access
 * policy unless the request sets them. Searches find its old text until the new content's job finishes, in the
 * transaction that makes the new text visible and removes the old text. Delete older documents at the path. Do nothing
 * for equal bytes.
 *
 * Return null if there is no document at the path yet.
 * @throws AppError `path_busy` (409) if another upload of the path came between, `scope_missing`, `role_missing` (403)
 *   for a change of the access policy without the right to edit it, `storage_quota_exceeded` (402), 400
 */
export async function replaceDocument(
  tx: Sql,
  caller: Caller,
  bucketId: string,
  upload: StoredUpload,
  wanted: ReplaceRequest,
): Promise<Registered | null> {
  const { request } = wanted;
  const sourcePath = request.source_path as string;
  await lockPath(tx, bucketId, sourcePath);
  const [newest, ...older] = await findVersionsOfPath(tx, caller, bucketId, sourcePath);
  if (newest === undefined || newest.id !== upload.id) {
    // A new document was stored under its own id, a replacement under the id of the document that it replaces.
    if (newest === undefined && !upload.isReplacement) return null;
    throw conflict('another upload of this source_path came between; send this one again', 'path_busy');
  }
  const sha256 = Buffer.from(upload.stored.sha256, 'hex');
  if (newest.sha256.equals(sha256) && newest.status !== 'failed') {
    return { reply: linkTo(bucketId, newest), replacedKey: null };
  }
  const { access, warnings } = accessOf(caller, newest, wanted);
  const metadata = { ...newest.metadata, ...wanted.metadata };
  const fault = mergedMetadataFault(metadata, newest.metadata);
  if (fault !== null) throw invalidRequest(`metadata: ${fault}`, 'metadata');
  const freedBytes = [newest, ...older].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await requireStorage(tx, caller, upload.stored.sizeBytes - freedBytes, upload.storageBytesMax);

  const collectionId = wanted.collectionId ?? newest.collectionId;
  // Lock jobs before documents, in the order of a finishing job.
  const olderIds = older.map(({ id }) => id);
  await cancelJobsOfDocuments(tx, caller.orgId, [newest.id, ...olderIds]);
  const { fileName, contentType } = upload.content;
  const content = { objectKey: upload.key, sizeBytes: upload.stored.sizeBytes, sha256, contentType };
  const facts = { fileName, sourcePath, metadata: wanted.metadata, eventTime: null };
  const replacedKey = await replaceContent(tx, caller.orgId, newest.id, content, facts);
  if (replacedKey === null) throw conflict('the document was deleted meanwhile; send the upload again', 'path_busy');
  await updateReplaced(tx, caller.orgId, newest.id, { collectionId, options: completeOptions(request), access });
  await removeDocumentsOf(tx, caller.orgId, olderIds);
  const jobId = await queueIngest(tx, caller, bucketId, upload, { request, metadata, collectionId });
  await recordAudit(tx, {
    orgId: caller.orgId,
    actor: caller.actor,
    action: 'document.replace',
    target: newest.id,
    detail: { bucket_id: bucketId, job_id: jobId, file_name: fileName, deleted: olderIds },
  });
  const reply = {
    id: newest.id,
    job_id: jobId,
    bucket_id: bucketId,
    collection_id: collectionId,
    status: 'queued' as const,
    replaced: true as const,
    warnings,
  };
  return { reply, replacedKey };
}

/**
 * Compute the access policy. Changing it requires the right to edit it, since searches find the old text for a while.
 */
function accessOf(caller: Caller, newest: PathVersion, { request, scope, policy }: ReplaceRequest) {
  const { privacy_level, classification, public_accessible, access } = request;
  const change = { privacy_level, classification, public_accessible, access, scope };
  const clamped = clampAccess(newest.access, change, caller, policy);
  if (!isDeepStrictEqual(clamped.access, newest.access)) requireMetadataManager(caller);
  return clamped;
}
