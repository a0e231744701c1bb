import { fromRecords, type RowRecord } from '../platform/postgres/records.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { AccessPolicy } from './access-policy.ts';
import type { IngestOptions } from './schema.ts';

const YEAR_1_MS = Date.parse('0001-01-01T00:00:00Z');
const YEAR_10000_MS = Date.parse('+010000-01-01T00:00:00Z');

export interface NewDocument {
  readonly id: string;
  readonly orgId: string;
  readonly bucketId: string;
  readonly collectionId: string | null;
  readonly fileName: string;
  readonly contentType: string | null;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
  readonly objectKey: string;
  readonly options: IngestOptions;
  readonly metadata: Record<string, string>;
  readonly access: AccessPolicy;
  readonly ownerDepartment: string | null;
  readonly uploadedByUserId: string | null;
  readonly sourcePath: string | null;
  /** Connected source of the document; absent for an upload. */
  readonly source?: { readonly id: string; readonly entryId: string; readonly eventTimeMs: number | null };
}

export function insertDocument(sql: Sql, document: NewDocument): Promise<void> {
  return insertDocuments(sql, [document]);
}

export async function insertDocuments(sql: Sql, documents: readonly NewDocument[]): Promise<void> {
  await sql`${documentInsert(sql, fromRecords(sql, 'documents', documents.map(documentRecord)))}`;
}

/** Return the columns of a new document as JSON for PostgreSQL. */
export function documentRecord(document: NewDocument): RowRecord {
  const { access, source } = document;
  return {
    id: document.id,
    org_id: document.orgId,
    bucket_id: document.bucketId,
    collection_id: document.collectionId,
    file_name: document.fileName,
    content_type: document.contentType,
    size_bytes: document.sizeBytes,
    sha256: `\\x${document.sha256.toString('hex')}`,
    object_key: document.objectKey,
    ingest_options: document.options,
    metadata: document.metadata,
    ...access,
    owner_department: document.ownerDepartment,
    uploaded_by_user_id: document.uploadedByUserId,
    source_path: document.sourcePath,
    source_id: source?.id,
    source_entry_id: source?.entryId,
    event_time: timeOf(source?.eventTimeMs ?? null),
  };
}

/** Build the statement that inserts documents. @param records its end, starting with FROM, with rows `record` */
export function documentInsert(sql: Sql, records: SqlFragment): SqlFragment {
  return sql`
    INSERT INTO documents (id, org_id, bucket_id, collection_id, file_name, content_type, size_bytes, sha256,
                           object_key, ingest_options, status, metadata, privacy_level, classification, review_status,
                           public_accessible, scope, access_list, owner_department, uploaded_by_user_id, source_path,
                           source_id, source_entry_id, event_time)
    SELECT record.id, record.org_id, record.bucket_id, record.collection_id, record.file_name, record.content_type,
           record.size_bytes, record.sha256, record.object_key, record.ingest_options, 'queued', record.metadata,
           record.privacy_level, record.classification, record.review_status, record.public_accessible, record.scope,
           record.access_list, record.owner_department, record.uploaded_by_user_id, record.source_path, record.source_id,
           record.source_entry_id, record.event_time
    ${records}`;
}

/** Convert milliseconds since 1970 to a timestamptz parameter, or null outside the years 1 to 9999. */
export function timeOf(milliseconds: number | null): Date | null {
  if (milliseconds === null || milliseconds < YEAR_1_MS || milliseconds >= YEAR_10000_MS) return null;
  return new Date(milliseconds);
}
