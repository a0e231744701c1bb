import { LRUCache } from 'lru-cache';
import type { Caller } from '../access/caller.ts';
import { isVersionOfPath } from '../documents/content-store.ts';
import { documentInsert, documentRecord, type NewDocument } from '../documents/insert-store.ts';
import type { BucketPolicy, BucketView } from '../documents/schema.ts';
import { contentLock, isKept } from '../documents/store.ts';
import { readKeyOf } from '../documents/visibility.ts';
import type { NewJob } from '../jobs/schema.ts';
import { jobInsert, jobRecord } from '../jobs/store.ts';
import { jsonText, type RowRecord } from '../platform/postgres/records.ts';
import { StatementBatcher } from '../platform/postgres/statement-batcher.ts';
import type { Sql } from '../platform/postgres.ts';

/** Document of an upload, with the job for its content. */
export interface NewUpload {
  /** Bucket as last read under this name or id. */
  readonly bucket: BucketView;
  readonly bucketRef: string;
  readonly document: NewDocument;
  readonly job: NewJob;
  /** True to write only if the caller sees no document with the same bytes in the bucket. */
  readonly isUnique: boolean;
}

/** Upload as a statement parameter. */
interface GivenUpload {
  readonly ref: string;
  readonly policy: BucketPolicy;
  /** Lock name for its bytes; null if other documents may have the same bytes. */
  readonly lock: string | null;
  readonly document: RowRecord;
  readonly job: RowRecord;
}

const BATCHERS_MAX = 1_000;

/** Writer of uploads. Concurrent uploads to one bucket share a statement. */
export class UploadStatements {
  /**
   * Batchers by bucket and caller's access. The cache may drop one that is in use, in which case two statements run at
   * a time.
   */
  readonly #batchers = new LRUCache<string, StatementBatcher<GivenUpload, boolean>>({ max: BATCHERS_MAX });

  /**
   * Insert a document and its job without waiting for a lock.
   * @param sql runs the statement, which may include other uploads
   * @returns false if nothing was written: the bucket has changed or is being changed, the same bytes are being
   *   uploaded, or a document already has the bytes or the path
   */
  insert(sql: Sql, caller: Caller, upload: NewUpload): Promise<boolean> {
    const { bucket, bucketRef, document, job, isUnique } = upload;
    const key = `${caller.orgId}/${bucket.id}/${readKeyOf(caller)}`;
    let batcher = this.#batchers.get(key);
    if (batcher === undefined) {
      batcher = new StatementBatcher((uploads) => insertUploads(sql, caller, bucket.id, uploads));
      this.#batchers.set(key, batcher);
    }
    return batcher.call({
      ref: bucketRef,
      policy: bucket.policy,
      lock: isUnique ? contentLock(bucket.id, document.sha256) : null,
      document: documentRecord(document),
      job: jobRecord(job),
    });
  }
}

/**
 * Insert documents and their jobs in one statement.
 * @param caller one of the uploaders, who all have the same read access
 * @returns true for each upload that was written
 */
async function insertUploads(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  uploads: readonly GivenUpload[],
): Promise<boolean[]> {
  // A lock excludes only other statements, so pass only one of several uploads of the same bytes.
  const byLock = new Map(uploads.toReversed().map((upload) => [upload.lock, upload]));
  const given = uploads.filter((upload) => upload.lock === null || byLock.get(upload.lock) === upload);
  // OFFSET 0 makes PostgreSQL look up the path per upload; a join might read all documents.
  const ofPath = isVersionOfPath(sql, caller, bucketId, sql`locked.source_path`);
  const documentOf = sql`jsonb_populate_record(NULL::documents, accepted.document) AS record`;
  const rows = await sql<{ document_id: string }[]>`
    WITH given AS MATERIALIZED (
      SELECT given.* FROM jsonb_to_recordset(${jsonText(given)}::text::jsonb)
        AS given (ref text, policy jsonb, lock text, document jsonb, job jsonb)),
    bucket AS MATERIALIZED (
      SELECT id, name, policy FROM buckets
      WHERE org_id = ${caller.orgId} AND id = ${bucketId} AND deleting_at IS NULL FOR SHARE SKIP LOCKED),
    locked AS MATERIALIZED (
      SELECT given.*, (given.document ->> 'sha256')::bytea AS sha256, given.document ->> 'source_path' AS source_path
      FROM bucket JOIN given ON given.policy = bucket.policy AND given.ref IN (bucket.id, bucket.name)
      WHERE CASE WHEN lock IS NULL THEN true ELSE pg_try_advisory_xact_lock(hashtextextended(lock, 0)) END),
    accepted AS MATERIALIZED (
      SELECT document, job FROM locked
      WHERE (lock IS NULL OR NOT EXISTS (
          SELECT 1 FROM documents_with_content(${bucketId}, locked.sha256) AS documents WHERE ${isKept(sql, caller)}))
        AND NOT EXISTS (SELECT 1 FROM documents WHERE ${ofPath} OFFSET 0)),
    inserted AS (${documentInsert(sql, sql`FROM accepted CROSS JOIN LATERAL ${documentOf}`)})
    ${jobInsert(sql, sql`FROM accepted CROSS JOIN LATERAL jsonb_populate_record(NULL::jobs, accepted.job) AS record`)}
    RETURNING document_id`;
  const written = new Set(rows.map((row) => row.document_id));
  return uploads.map(({ document }) => written.has(document['id'] as string));
}
