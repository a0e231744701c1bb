import type { Caller } from '../access/caller.ts';
import type { PathVersion } from '../documents/content-store.ts';
import type { NewJob } from '../jobs/schema.ts';
import { enqueueJob } from '../jobs/store.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import type { UploadReply, UploadRequest } from './schema.ts';
import { snapshotOf } from './snapshot.ts';

/** Default priority, which every ingest job has. Only bulk jobs are ordered by plan. */
const INGEST_PRIORITY = 2;

/** Stored upload, ready to be written by its transaction. */
export interface StoredUpload {
  /** Document id: a new one, or that of the document whose content is replaced. */
  readonly id: string;
  readonly isReplacement: boolean;
  readonly key: string;
  readonly stored: { sizeBytes: number; sha256: string };
  /** Name and type as sent. */
  readonly content: { readonly fileName: string; readonly contentType: string | null };
  readonly workflowId: string | null;
  /** Limit on the total bytes of the organization's documents and files; null for none. */
  readonly storageBytesMax: number | null;
}

/** Response to an upload, and the key of the content that it replaced. */
export interface Registered {
  readonly reply: UploadReply;
  readonly replacedKey: string | null;
}

/** Build the response to an upload whose bytes a document already has. */
export function linkTo(
  bucketId: string,
  duplicate: Pick<PathVersion, 'id' | 'jobId' | 'collectionId' | 'status'>,
): UploadReply {
  return {
    id: duplicate.id,
    job_id: duplicate.jobId,
    bucket_id: bucketId,
    collection_id: duplicate.collectionId,
    status: duplicate.status,
    duplicate_of: duplicate.id,
    warnings: [],
  };
}

/** Properties of an upload that its job takes from the request. */
export interface GivenToJob {
  readonly request: UploadRequest;
  readonly metadata: Record<string, string>;
  readonly collectionId: string | null;
}

/** Queue an upload's job. Return its id. */
export async function queueIngest(
  tx: Sql,
  caller: Caller,
  bucketId: string,
  upload: StoredUpload,
  given: GivenToJob,
): Promise<string> {
  return (await enqueueJob(tx, newJobOf(caller, bucketId, upload, given))).id;
}

/** Build the job of an upload. */
export function newJobOf(
  caller: Caller,
  bucketId: string,
  { id, key, stored, content, workflowId }: StoredUpload,
  { request, metadata, collectionId }: GivenToJob,
): NewJob {
  return {
    id: newId('job'),
    kind: 'ingest',
    orgId: caller.orgId,
    bucketId,
    collectionId,
    documentId: id,
    workflowId,
    priority: INGEST_PRIORITY,
    s3Key: key,
    fileName: content.fileName,
    fileSizeBytes: stored.sizeBytes,
    processingType: 'document_upload',
    metadataSnapshot: snapshotOf({ fileName: content.fileName, sourcePath: request.source_path ?? null, metadata }),
  };
}
