import type { Readable } from 'node:stream';
import type { Caller } from '../access/caller.ts';
import { requireMetadataManager } from '../access/roles.ts';
import { type AccessInput, changeAccessList } from '../documents/access-list.ts';
import { requireOwnDepartment } from '../documents/access-policy.ts';
import { nextContentKey, originalKey } from '../documents/documents.ts';
import type { RecentBuckets } from '../documents/recent-buckets.ts';
import { resolveAccess } from '../documents/resolve-access.ts';
import { findCollection } from '../documents/store.ts';
import { type JobNotifier, notifyWorkers } from '../jobs/notifier.ts';
import type { Config } from '../platform/config.ts';
import { invalidRequest } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { mayHaveCommitted, type Sql } from '../platform/postgres.ts';
import { isPlainUpload, registerAtOnce, registerInSteps } from './register-upload.ts';
import { findReplaced } from './replace-document.ts';
import { FileName, type UploadReply, type UploadRequest } from './schema.ts';
import type { UploadStatements } from './upload-store.ts';

export interface UploadContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly notifier: JobNotifier;
  readonly recentBuckets: RecentBuckets;
  readonly statements: UploadStatements;
  readonly logger: Logger;
  /** Workflow whose run uploads the document, if any. */
  readonly workflowId?: string;
  /** Plans, which set the storage quotas of organizations. */
  readonly plans: Config['plans'];
}

/** Content of an upload: a local file that may be moved, bytes in memory, or a stream that is opened once. */
export type UploadContent = { readonly fileName: string; readonly contentType: string | null } & (
  | { readonly file: string }
  | { readonly bytes: Uint8Array }
  | { readonly openStream: () => Readable }
);

/** Return the content of a JSON upload. @throws AppError 400 unless there is exactly one kind of content and a name */
export function contentOfJson(request: UploadRequest): UploadContent & { readonly bytes: Uint8Array } {
  const kinds = [request.text, request.content, request.content_base64].filter((kind) => kind !== undefined);
  if (kinds.length !== 1) {
    throw invalidRequest('send exactly one of text, content or content_base64, or a multipart file', 'content');
  }
  if (request.filename === undefined) throw invalidRequest('filename: is required', 'filename');
  const text = request.text ?? request.content;
  return {
    bytes: text === undefined ? Buffer.from(request.content_base64 as string, 'base64') : Buffer.from(text, 'utf8'),
    fileName: request.filename,
    contentType: request.content_type ?? null,
  };
}

/**
 * Upload a document: store its bytes, then write the document and its job in one transaction. A crash in between, or a
 * lost database connection, may leave orphaned bytes, but never a document without bytes or without a job.
 * @throws AppError `bucket_not_found`, `collection_not_found` (404), `duplicate_document` (409), `scope_not_yours`,
 *   `scope_missing`, `role_missing` (403), `storage_quota_exceeded` (402), `path_busy` (409), 400
 */
export async function uploadDocument(
  context: UploadContext,
  caller: Caller,
  bucketRef: string,
  sent: UploadContent,
  given: UploadRequest,
): Promise<UploadReply> {
  const { sql, objects, recentBuckets, statements } = context;
  const name = FileName.safeParse(sent.fileName);
  if (!name.success) throw invalidRequest(`filename: ${name.error.issues[0]?.message}`, 'filename');
  const content = { ...sent, fileName: name.data };
  const request = { ...given, access: await accessOfUpload(sql, caller, given) };
  requireOwnDepartment(caller, request.metadata?.['scope'] ?? null);
  if (request.public_accessible) requireMetadataManager(caller);
  const storageBytesMax = context.plans[caller.plan]?.storageBytes ?? null;
  const isPlain = isPlainUpload(request, storageBytesMax);
  // The statement that writes a plain upload checks its bucket.
  const bucket = await recentBuckets[isPlain ? 'recall' : 'read'](sql, caller, bucketRef);
  const collection = request.collection_id
    ? await findCollection(sql, caller.orgId, bucket.id, request.collection_id)
    : null;

  const replaced = await findReplaced(sql, caller, bucket.id, request);
  const id = replaced ?? newId('doc');
  const key = replaced === null ? originalKey(caller.orgId, id) : nextContentKey(caller.orgId, id);
  const stored = await store(objects, key, content);
  let reply: UploadReply;
  let replacedKey: string | null;
  try {
    if (stored.sizeBytes === 0) throw invalidRequest('the file is empty', 'file', 'empty_file');
    const { workflowId = null } = context;
    const upload = { id, isReplacement: replaced !== null, key, stored, content, workflowId, storageBytesMax };
    const wanted = { upload, request, collectionId: collection?.id ?? null };
    ({ reply, replacedKey } = isPlain
      ? ((await registerAtOnce(sql, statements, caller, { bucket, bucketRef }, wanted)) ??
        (await registerInSteps(sql, caller, await recentBuckets.read(sql, caller, bucketRef), wanted)))
      : await registerInSteps(sql, caller, bucket, wanted));
  } catch (error) {
    // The rows may exist nevertheless. A sweep deletes bytes without rows.
    if (!mayHaveCommitted(error)) {
      await objects
        .delete(key, { unreferenced: true })
        .catch((cause) =>
          context.logger.warn({ err: cause, key }, 'the stored bytes of a refused upload could not be deleted'),
        );
    }
    throw error;
  }
  // After a crash before this line, the replaced content stays until its document is deleted.
  if (replacedKey !== null) await objects.delete(replacedKey).catch(() => undefined);
  if (reply.duplicate_of !== undefined) await objects.delete(key, { unreferenced: true });
  // Don't make uploads wait for this, since many may share one notification.
  else void notifyWorkers(context, 'ingest');
  return reply;
}

/**
 * Resolve the users and groups of an upload, which replace those of the bucket.
 *
 * @throws AppError `user_unknown`, `group_unknown`, 400 for a refused list
 */
export async function accessOfUpload(
  sql: Sql,
  { orgId }: Caller,
  { access }: Pick<UploadRequest, 'access'>,
): Promise<AccessInput | undefined> {
  if (access === undefined) return undefined;
  if (access === null) return null;
  const resolved = { users: [], groups: [], ...(await resolveAccess(sql, orgId, access)) };
  const changed = changeAccessList(null, resolved);
  if ('fault' in changed) throw invalidRequest(`access: ${changed.fault}`, 'access');
  return resolved;
}

function store(objects: Objects, key: string, content: UploadContent) {
  if ('file' in content) return objects.adopt(content.file, key);
  return objects.put(key, 'bytes' in content ? content.bytes : content.openStream());
}
