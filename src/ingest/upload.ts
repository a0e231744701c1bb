import type { Readable } from 'node:stream';
import type { Caller } from '../access/caller.ts';
import { requireMetadataManager } from '../access/roles.ts';
import { ACCESS_AT_UPLOAD, clampAccess, requireOwnDepartment } from '../documents/access-policy.ts';
import { originalKey } from '../documents/documents.ts';
import type { BucketView } from '../documents/schema.ts';
import {
  findBucket,
  findByContent,
  findCollection,
  insertDocument,
  lockBucketPolicy,
  lockContent,
  lockStoredBytes,
} from '../documents/store.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import { enqueueJob } from '../jobs/store.ts';
import type { Config } from '../platform/config.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { FileName, type UploadReply, type UploadRequest } from './schema.ts';

/** Default priority, which every ingest job has; only bulk jobs are ordered by plan. */
const INGEST_PRIORITY = 2;

export interface UploadContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  /** Workflow whose run uploads, if it is one. */
  readonly workflowId?: string;
  /** Bounds of the plans on what an organization may store. */
  readonly plans: Config['plans'];
}

/** Content of an upload: a local file that may be moved away, bytes in memory, or a stream that is opened once. */
export type UploadContent = { readonly fileName: string; readonly contentType: string | null } & (
  | { readonly file: string }
  | { readonly bytes: Uint8Array }
  | { readonly openStream: () => Readable }
);

/** Content of a JSON upload. @throws AppError 400 unless there is exactly one kind of content and a name */
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
 * Upload a document: store its bytes, then write the document and its job in one transaction. A crash in between leaves
 * unreferenced bytes, but never a document without bytes or without a job.
 *
 * @throws AppError `bucket_not_found`, `collection_not_found` (404), `duplicate_document` (409), `scope_not_yours`,
 *   `scope_missing`, `role_missing` (403), `storage_quota_exceeded` (402), 400
 */
export async function uploadDocument(
  context: UploadContext,
  caller: Caller,
  bucketRef: string,
  content: UploadContent,
  request: UploadRequest,
): Promise<UploadReply> {
  const { sql, objects } = context;
  const name = FileName.safeParse(content.fileName);
  if (!name.success) throw invalidRequest(`filename: ${name.error.issues[0]?.message}`, 'filename');
  requireOwnDepartment(caller, request.metadata?.['scope'] ?? null);
  if (request.public_accessible) requireMetadataManager(caller);
  const bucket = await findBucket(sql, caller.orgId, bucketRef);
  const collection = request.collection_id
    ? await findCollection(sql, caller.orgId, bucket.id, request.collection_id)
    : null;

  const id = newId('doc');
  const key = originalKey(caller.orgId, id);
  const stored = await store(objects, key, content);
  let reply: UploadReply;
  try {
    if (stored.sizeBytes === 0) throw invalidRequest('the file is empty', 'file', 'empty_file');
    const { workflowId = null, plans } = context;
    const storageBytesMax = plans[caller.plan]?.storageBytes ?? null;
    const upload = { id, key, stored, content, workflowId, storageBytesMax };
    reply = await register(sql, caller, bucket, collection?.id ?? null, upload, request);
  } catch (error) {
    await objects
      .delete(key, { unreferenced: true })
      .catch((cause) =>
        context.logger.warn({ err: cause, key }, 'the stored bytes of a refused upload could not be deleted'),
      );
    throw error;
  }
  if (reply.duplicate_of !== undefined) await objects.delete(key, { unreferenced: true });
  else
    await context.notifier
      .notifyQueued('ingest')
      .catch((error) => context.logger.debug({ err: error }, 'the notification of a queued job could not be sent'));
  return reply;
}

function store(objects: Objects, key: string, content: UploadContent) {
  if ('file' in content) return objects.adopt(content.file, key);
  return objects.put(key, 'bytes' in content ? content.bytes : content.openStream());
}

interface Stored {
  readonly id: string;
  readonly key: string;
  readonly stored: { sizeBytes: number; sha256: string };
  readonly content: UploadContent;
  readonly workflowId: string | null;
  /** Bound on the bytes of all documents of the organization; null for none. */
  readonly storageBytesMax: number | null;
}

function register(
  sql: Sql,
  caller: Caller,
  bucket: BucketView,
  collectionId: string | null,
  { id, key, stored, content, workflowId, storageBytesMax }: Stored,
  request: UploadRequest,
): Promise<UploadReply> {
  const sha256 = Buffer.from(stored.sha256, 'hex');
  const { scope, ...metadata } = withoutNulls(request.metadata ?? {});
  return sql.begin(async (tx) => {
    const { policy } = await lockBucketPolicy(tx, caller.orgId, bucket.id);
    const { access, warnings } = clampAccess(ACCESS_AT_UPLOAD, { ...request, scope }, caller, policy);
    // An edit ignores such a scope; here that would show the document to every department.
    if (scope !== undefined && access.scope !== scope) {
      const listed = policy.departments?.join(', ');
      throw invalidRequest(`metadata.scope: must be one of the bucket's departments (${listed})`, 'metadata.scope');
    }
    if (request.on_duplicate !== 'allow') {
      await lockContent(tx, bucket.id, sha256);
      const duplicate = await findByContent(tx, caller, bucket.id, sha256);
      if (duplicate && request.on_duplicate === 'reject') {
        throw new AppError({
          code: 'duplicate_document',
          status: 409,
          message: `the bucket already contains the same bytes as document ${duplicate.id}`,
        });
      }
      if (duplicate) {
        return {
          id: duplicate.id,
          job_id: duplicate.jobId,
          bucket_id: bucket.id,
          collection_id: duplicate.collectionId,
          status: duplicate.status,
          duplicate_of: duplicate.id,
          warnings: [],
        };
      }
    }
    if (storageBytesMax !== null) await requireStorage(tx, caller, stored.sizeBytes, storageBytesMax);
    await insertDocument(tx, {
      id,
      orgId: caller.orgId,
      bucketId: bucket.id,
      collectionId,
      fileName: content.fileName,
      contentType: content.contentType,
      sizeBytes: stored.sizeBytes,
      sha256,
      objectKey: key,
      options: {
        ocr_strategy: request.ocr_strategy,
        chunk_size: request.chunk_size,
        chunk_overlap: request.chunk_overlap,
      },
      metadata,
      access,
      ownerDepartment: caller.department,
      uploadedByUserId: caller.userId,
      sourcePath: request.source_path ?? null,
    });
    const job = await enqueueJob(tx, {
      id: newId('job'),
      kind: 'ingest',
      orgId: caller.orgId,
      bucketId: bucket.id,
      collectionId,
      documentId: id,
      workflowId,
      priority: INGEST_PRIORITY,
      s3Key: key,
      fileName: content.fileName,
      fileSizeBytes: stored.sizeBytes,
      processingType: 'document_upload',
      metadataSnapshot: snapshotOf({
        fileName: content.fileName,
        sourcePath: request.source_path ?? null,
        metadata,
      }),
    });
    return {
      id,
      job_id: job.id,
      bucket_id: bucket.id,
      collection_id: collectionId,
      status: 'queued' as const,
      warnings,
    };
  });
}

/**
 * Check that a file fits into what the organization may store. Uploads of one organization pass one after the other from
 * here to the end of their transactions, so that together they cannot exceed it.
 *
 * @throws AppError `storage_quota_exceeded` (402)
 */
async function requireStorage(tx: Sql, caller: Caller, sizeBytes: number, bytesMax: number): Promise<void> {
  const storedBytes = await lockStoredBytes(tx, caller.orgId);
  if (storedBytes + sizeBytes <= bytesMax) return;
  throw new AppError({
    code: 'storage_quota_exceeded',
    status: 402,
    message: `the plan "${caller.plan}" stores ${bytesMax} bytes of documents, and ${storedBytes} are in use; delete documents, or ask for another plan`,
  });
}

/** Snapshot of a document at the time when its job is queued (contract 2.6). */
export function snapshotOf(document: {
  fileName: string;
  sourcePath: string | null;
  metadata: Record<string, string>;
}): Record<string, unknown> {
  return {
    file_name: document.fileName,
    source_path: document.sourcePath,
    captured_at: new Date().toISOString(),
    metadata: document.metadata,
  };
}

function withoutNulls(metadata: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).filter((entry): entry is [string, string] => entry[1] !== null));
}
