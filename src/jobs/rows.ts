import type { Job, JobKind, JobStatus, JobView } from './schema.ts';

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
export const VIEW_COLUMNS = [
  ...[
    'id',
    'org_id',
    'bucket_id',
    'collection_id',
    'document_id',
    'workflow_id',
    'source_entry_id',
    'priority',
    'status',
  ],
  ...[
    's3_key',
    'file_name',
    'file_size',
    'file_type',
    'processing_type',
    'estimated_cost',
    'actual_cost',
    'chunks_count',
  ],
  ...[
    'failed_phase',
    'error_category',
    'error_message',
    'retryable',
    'retry_count',
    'reprocess_of_job_id',
    'worker_id',
  ],
  ...['scheduled_at', 'started_at', 'completed_at', 'created_at', 'updated_at', 'metadata_snapshot'],
];

export function toView(row: Row): JobView {
  const time = (name: string) => (row[name] instanceof Date ? (row[name] as Date).toISOString() : null);
  const text = (name: string) => row[name] as string | null;
  const { warnings, ...others } = (row['metadata_snapshot'] ?? {}) as Record<string, unknown>;
  const snapshot = row['metadata_snapshot'] === null ? null : others;
  return {
    id: row['id'] as string,
    org_id: row['org_id'] as string,
    bucket_id: row['bucket_id'] as string,
    collection_id: text('collection_id'),
    document_id: text('document_id'),
    workflow_id: text('workflow_id'),
    source_entry_id: text('source_entry_id'),
    priority: row['priority'] as number,
    status: row['status'] as JobStatus,
    s3_key: row['s3_key'] as string,
    file_name: row['file_name'] as string,
    file_size: Number(row['file_size']),
    file_type: text('file_type'),
    processing_type: text('processing_type'),
    estimated_cost: row['estimated_cost'] as number,
    actual_cost: row['actual_cost'] as number | null,
    chunks_count: row['chunks_count'] as number | null,
    failed_phase: text('failed_phase'),
    error_category: text('error_category'),
    error_message: text('error_message'),
    retryable: row['retryable'] as boolean | null,
    retry_count: row['retry_count'] as number,
    reprocess_of_job_id: text('reprocess_of_job_id'),
    worker_id: text('worker_id'),
    scheduled_at: time('scheduled_at'),
    started_at: time('started_at'),
    completed_at: time('completed_at'),
    created_at: time('created_at') as string,
    updated_at: time('updated_at') as string,
    metadata_snapshot: snapshot,
    warnings: Array.isArray(warnings) ? warnings.map(String) : [],
  };
}
