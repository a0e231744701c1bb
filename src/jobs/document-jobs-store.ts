import type { Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';
import { isUnfinished } from './state-store.ts';

/** Cancel the unfinished jobs of a document or of an entire bucket that is being deleted. */
export async function cancelJobsOf(
  sql: Sql,
  orgId: string,
  owner: { documentId: string } | { bucketId: string },
): Promise<void> {
  const match = 'documentId' in owner ? sql`document_id = ${owner.documentId}` : sql`bucket_id = ${owner.bucketId}`;
  await sql`
    UPDATE jobs SET status = 'cancelled', fence = fence + 1, completed_at = now(), updated_at = now(),
           lease_expires_at = NULL
    WHERE org_id = ${orgId} AND ${match} AND ${isUnfinished(sql)}`;
}

/** Lock the unfinished jobs of these documents until the transaction ends, ordered by id. */
export async function lockJobsOf(
  sql: Sql,
  orgId: string,
  documentIds: readonly string[],
): Promise<{ id: string; kind: JobKind; documentId: string }[]> {
  return sql<{ id: string; kind: JobKind; documentId: string }[]>`
    SELECT id, kind, document_id AS "documentId" FROM jobs
    WHERE org_id = ${orgId} AND document_id = ANY(${sql.array([...documentIds])}::text[])
      AND ${isUnfinished(sql)}
    ORDER BY id FOR UPDATE`;
}

/** Cancel those of the jobs that are unfinished. */
export async function cancelJobs(sql: Sql, orgId: string, jobIds: readonly string[]): Promise<void> {
  await sql`
    UPDATE jobs SET status = 'cancelled', fence = fence + 1, completed_at = now(), updated_at = now(),
           scheduled_at = NULL, lease_expires_at = NULL
    WHERE org_id = ${orgId} AND id = ANY(${sql.array([...jobIds])}::text[])
      AND ${isUnfinished(sql)}`;
}

/** Cancel the unfinished jobs of these documents, locking them in id order. */
export async function cancelJobsOfDocuments(tx: Sql, orgId: string, documentIds: readonly string[]): Promise<void> {
  const jobs = await lockJobsOf(tx, orgId, documentIds);
  if (jobs.length === 0) return;
  await cancelJobs(
    tx,
    orgId,
    jobs.map(({ id }) => id),
  );
}

/**
 * Erase file names and metadata of deleted documents from their jobs. Keep the fields that decide who may see the jobs.
 * @param access fields of the remaining documents, by id
 */
export async function forgetDocumentsOfJobs(
  sql: Sql,
  orgId: string,
  documentIds: readonly string[],
  access: Readonly<Record<string, object>>,
): Promise<void> {
  // Lock in id order first, since two processes may delete the same documents concurrently.
  await sql`
    WITH own AS MATERIALIZED (
      SELECT id FROM jobs WHERE org_id = ${orgId} AND document_id = ANY(${sql.array([...documentIds])}::text[])
      ORDER BY id FOR UPDATE)
    UPDATE jobs SET file_name = 'deleted', metadata_snapshot = NULL, updated_at = now(),
           document_access = coalesce(${JSON.stringify(access)}::text::jsonb -> jobs.document_id, jobs.document_access)
    FROM own WHERE jobs.id = own.id`;
}

/**
 * Copy the access fields of deleted documents to the bucket's whole-bucket jobs, without duplicates. The jobs thus stay
 * hidden from everyone who couldn't see these documents.
 * @param access fields of the documents that are about to be deleted
 */
export async function keepAccessInBucketJobs(
  sql: Sql,
  orgId: string,
  bucketId: string,
  access: readonly object[],
): Promise<void> {
  if (access.length === 0) return;
  const different = new Set(access.map((fields) => JSON.stringify(fields)));
  const removed = sql`${`[${[...different].join(',')}]`}::text::jsonb`;
  await sql`
    WITH own AS MATERIALIZED (
      SELECT id FROM jobs
      WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND document_id IS NULL AND kind <> 'sync'
        AND NOT coalesce(removed_access, '[]') @> ${removed}
      ORDER BY id FOR UPDATE)
    UPDATE jobs SET removed_access = (
      SELECT jsonb_agg(DISTINCT fields) FROM jsonb_array_elements(coalesce(jobs.removed_access, '[]') || ${removed}) AS fields)
    FROM own WHERE jobs.id = own.id`;
}
