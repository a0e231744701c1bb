import { viewOf } from '../platform/postgres/views.ts';
import { type Job, type JobKind, type JobStatus, JobView } from './schema.ts';

/** Row of `jobs` as returned by the driver. */
export type Row = Record<string, unknown>;

export function toJob(row: Row): Job {
  return {
    id: row['id'] as string,
    kind: row['kind'] as JobKind,
    orgId: row['org_id'] as string,
    bucketId: row['bucket_id'] as string,
    collectionId: row['collection_id'] as string | null,
    documentId: row['document_id'] as string | null,
    priority: row['priority'] as number,
    status: row['status'] as JobStatus,
    s3Key: row['s3_key'] as string,
    fileName: row['file_name'] as string,
    fileSizeBytes: Number(row['file_size']),
    processingType: row['processing_type'] as string | null,
    retryCount: row['retry_count'] as number,
    crashCount: row['crash_count'] as number,
    fence: Number(row['fence']),
    generation: row['generation'] === null ? null : Number(row['generation']),
    requestId: row['request_id'] as string | null,
    traceParent: row['trace_parent'] as string | null,
    view: toView(row),
  };
}

/** Columns that `toView` reads. A statement that names them can be prepared inside a transaction. */
export const VIEW_COLUMNS = Object.keys(JobView.omit({ warnings: true }).shape);

export function toView(row: Row): JobView {
  const { warnings, ...others } = (row['metadata_snapshot'] ?? {}) as Record<string, unknown>;
  return {
    ...viewOf<JobView>(row, VIEW_COLUMNS),
    metadata_snapshot: row['metadata_snapshot'] === null ? null : others,
    warnings: Array.isArray(warnings) ? warnings.map(String) : [],
  };
}
