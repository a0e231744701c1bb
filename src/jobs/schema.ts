import { z } from 'zod';
import { textInteger } from '../platform/zod-integers.ts';

/** States of an ingest job. Bulk jobs use all except `extracting` and `chunking`. */
export const JOB_STATUSES = [
  'queued',
  'extracting',
  'chunking',
  'embedding',
  'indexing',
  'ready',
  'failed',
  'cancelled',
] as const;
export const JobStatus = z.enum(JOB_STATUSES);
export type JobStatus = z.infer<typeof JobStatus>;

export const IN_PROGRESS = ['extracting', 'chunking', 'embedding', 'indexing'] as const satisfies JobStatus[];
export type JobPhase = (typeof IN_PROGRESS)[number];

export const UNFINISHED = ['queued', ...IN_PROGRESS] as const satisfies JobStatus[];

/** Return true for final states: ready, failed and cancelled. */
export function isTerminal(status: JobStatus): boolean {
  return !UNFINISHED.includes(status as (typeof UNFINISHED)[number]);
}

export const JobKind = z.enum(['ingest', 'bulk', 'batch', 'hard_delete', 'reindex', 'sync']);
export type JobKind = z.infer<typeof JobKind>;

/** Failure categories of a synchronisation: settings, the connected place, the source itself, or single entries. */
export const SOURCE_FAILURES = [
  'source_settings',
  'source_missing',
  'source_refused',
  'source_unavailable',
  'source_too_large',
  'source_emptied',
  'source_deleted',
  'source_entries',
] as const;

export const ERROR_CATEGORIES = [
  'unsupported_type',
  'encrypted',
  'corrupt',
  'too_large',
  'timeout',
  'out_of_memory',
  'upstream_unavailable',
  'upstream_rejected',
  'quota',
  'not_comparable',
  'storage',
  'poison',
  'stale',
  'internal',
  ...SOURCE_FAILURES,
] as const;
export type ErrorCategory = (typeof ERROR_CATEGORIES)[number];

const timestamp = z.iso.datetime();

/** Job in the API (contract 2.6). */
export const JobView = z
  .object({
    id: z.string(),
    org_id: z.string(),
    bucket_id: z.string(),
    collection_id: z.string().nullable(),
    document_id: z.string().nullable(),
    workflow_id: z.string().nullable(),
    source_entry_id: z.string().nullable(),
    priority: z.int().describe('jobs with a lower number run first'),
    status: JobStatus,
    s3_key: z.string().describe('storage key of the original file or artifact'),
    file_name: z.string(),
    file_size: z.int().describe('bytes'),
    file_type: z.string().nullable(),
    processing_type: z.string().nullable(),
    estimated_cost: z.number(),
    actual_cost: z.number().nullable(),
    chunks_count: z.int().nullable(),
    failed_phase: z.string().nullable(),
    error_category: z.string().nullable(),
    error_message: z.string().nullable(),
    retryable: z.boolean().nullable(),
    retry_count: z.int(),
    reprocess_of_job_id: z.string().nullable(),
    worker_id: z.string().nullable(),
    scheduled_at: timestamp.nullable(),
    started_at: timestamp.nullable(),
    completed_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
    metadata_snapshot: z.record(z.string(), z.unknown()).nullable(),
    warnings: z.array(z.string()).describe('problems that did not make the job fail'),
  })
  .meta({ id: 'Job' });
export type JobView = z.infer<typeof JobView>;

export const ListJobsQuery = z.object({
  bucket_id: z.string().optional().describe('id or name'),
  document_id: z.string().optional(),
  cursor: z
    .string()
    .max(128)
    .regex(/^(?:job_\w+)?$/, 'must be the id of the last job of the previous page')
    .optional()
    .describe('id of the last job of the previous page'),
  status: JobStatus.optional(),
  limit: textInteger(z.int().min(1).max(200).default(50)),
});
export type ListJobsQuery = z.output<typeof ListJobsQuery>;

/** Result of cancelling a job. `detail` is set if the job had already ended. */
export const CancelReply = z.object({ status: JobStatus, detail: z.string().optional() });
export type CancelReply = z.output<typeof CancelReply>;

export const ReapQuery = z.object({ timeout_minutes: textInteger(z.int().min(1).max(1440).default(30)) });

export const ReapReply = z.object({
  timeout_minutes: z.int(),
  reaped_count: z.int(),
  jobs: z.array(z.object({ job_id: z.string(), org_id: z.string(), stuck_status: JobStatus })),
});
export type ReapReply = z.output<typeof ReapReply>;

/** Row of `jobs`: the view, plus the fields of its lease. */
export interface Job {
  readonly id: string;
  readonly kind: JobKind;
  readonly orgId: string;
  readonly bucketId: string;
  readonly collectionId: string | null;
  readonly documentId: string | null;
  readonly priority: number;
  readonly status: JobStatus;
  readonly s3Key: string;
  readonly fileName: string;
  readonly fileSizeBytes: number;
  readonly processingType: string | null;
  readonly retryCount: number;
  readonly crashCount: number;
  readonly fence: number;
  readonly generation: number | null;
  /** Id of the request that queued the job; null if unknown. */
  readonly requestId: string | null;
  /** Trace context of that request, as in the header `traceparent`; null if it was not traced. */
  readonly traceParent: string | null;
  readonly view: JobView;
}

/** Fields of a new job set by its submitter. The engine adds the rest. */
export interface NewJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly orgId: string;
  readonly bucketId: string;
  readonly collectionId?: string | null;
  readonly documentId?: string | null;
  readonly workflowId?: string | null;
  readonly sourceEntryId?: string | null;
  readonly priority: number;
  readonly s3Key: string;
  readonly fileName: string;
  readonly fileSizeBytes: number;
  readonly fileType?: string | null;
  readonly processingType: string;
  readonly estimatedCost?: number;
  readonly reprocessOfJobId?: string | null;
  readonly metadataSnapshot?: Record<string, unknown> | null;
}
