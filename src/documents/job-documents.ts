import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import type { JobView, ListJobsQuery } from '../jobs/schema.ts';
import { findJob, listFinishedJobs, listJobs } from '../jobs/store.ts';
import { AppError, notFound } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { mediaTypeOf } from './content-types.ts';
import { findDocumentOfJob, jobInBucket } from './job-store.ts';
import { jobVisibleTo } from './visibility.ts';

/** List jobs that the caller may see, newest first. */
export async function listVisibleJobs(sql: Sql, caller: Caller, query: ListJobsQuery): Promise<JobView[]> {
  const { bucket_id: bucket } = query;
  const inBucket = bucket === undefined ? sql`true` : jobInBucket(sql, caller.orgId, bucket);
  return listJobs(sql, caller.orgId, sql`${jobVisibleTo(sql, caller)} AND ${inBucket}`, query);
}

/** Read a job that the caller may see. @throws AppError `job_not_found` (404) */
export async function getVisibleJob(sql: Sql, caller: Caller, jobId: string): Promise<JobView> {
  return (await findJob(sql, caller.orgId, jobVisibleTo(sql, caller), jobId)).view;
}

/** Return those of the jobs that have ended and that the caller may see. */
export function listVisibleFinishedJobs(sql: Sql, caller: Caller, jobIds: readonly string[]): Promise<JobView[]> {
  return listFinishedJobs(sql, caller.orgId, jobVisibleTo(sql, caller), jobIds);
}

/** Document of a job in the form of a file in its bucket (contract 2.6). */
export const VectorStoreFile = z
  .object({
    id: z.string().describe('document id'),
    object: z.literal('vector_store.file'),
    vector_store_id: z.string().describe('bucket id'),
    status: z.string(),
    filename: z.string(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'VectorStoreFile' });
export type VectorStoreFile = z.output<typeof VectorStoreFile>;

/** List a job's file. Bulk jobs and jobs of deleted documents have none. @throws AppError `job_not_found` (404) */
export async function listJobFiles(sql: Sql, caller: Caller, jobId: string): Promise<VectorStoreFile[]> {
  const job = await getVisibleJob(sql, caller, jobId);
  const found = job.document_id === null ? null : await findDocumentOfJob(sql, caller, job.document_id);
  if (!found) return [];
  const { document } = found;
  return [
    {
      id: document.id,
      object: 'vector_store.file',
      vector_store_id: document.bucket_id,
      status: document.status,
      filename: document.file_name,
      created_at: document.created_at,
    },
  ];
}

export interface JobFile {
  /** Name given at upload, never an internal path. */
  readonly fileName: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** Open the uploaded bytes. May be called once. */
  open(): Readable;
}

/**
 * Find the original file of a job.
 *
 * @throws AppError `job_not_found` (404), `file_not_found` (404) if it has none or the storage can't return it
 */
export async function findJobFile(sql: Sql, objects: Objects, caller: Caller, jobId: string): Promise<JobFile> {
  const job = await getVisibleJob(sql, caller, jobId);
  const found = job.document_id === null ? null : await findDocumentOfJob(sql, caller, job.document_id);
  if (!found) throw fileNotFound('the job has no file');
  return openFile(objects, found, job.file_type);
}

/**
 * Find the original file of a document.
 *
 * @throws AppError `document_not_found` (404), `file_not_found` (404) if the storage can't return it
 */
export async function findDocumentFile(sql: Sql, objects: Objects, caller: Caller, id: string): Promise<JobFile> {
  const found = await findDocumentOfJob(sql, caller, id);
  if (!found) throw notFound('document', id);
  return openFile(objects, found, found.document.file_type);
}

async function openFile(
  objects: Objects,
  { document, objectKey }: NonNullable<Awaited<ReturnType<typeof findDocumentOfJob>>>,
  fileType: string | null,
): Promise<JobFile> {
  const stored = await objects.head(objectKey).catch((error: unknown) => {
    if (error instanceof AppError) throw fileNotFound('the storage cannot return the file', error);
    throw error;
  });
  if (!stored) throw fileNotFound('the stored file is missing; upload the document again');
  return {
    fileName: document.file_name,
    mediaType: mediaTypeOf(fileType),
    sizeBytes: stored.sizeBytes,
    open: () => objects.stream(objectKey),
  };
}

function fileNotFound(message: string, cause?: unknown): AppError {
  return new AppError({ code: 'file_not_found', status: 404, message, cause });
}
