import { valueRows } from '../platform/postgres/value-rows.ts';
import type { Sql } from '../platform/postgres.ts';

export interface NewGeneration {
  readonly id: number;
  readonly orgId: string;
  readonly bucketId: string;
  readonly documentId: string;
  readonly jobId: string;
  readonly artifactKey: string;
  readonly chunksCount: number;
  readonly embedModel: string;
  readonly embedRevision: string | null;
  readonly space: string;
  /** Version of the map; null if the vectors are uncalibrated. */
  readonly mapVersion: number | null;
  /** Dimension of the native vectors; null if the artifact has none. */
  readonly nativeDimension: number | null;
  /** False if its chunks are imported vectors without text. */
  readonly hasText: boolean;
  /** Generation that this one was reprojected from; null for one written by an ingest job. */
  readonly replaces: number | null;
}

/** Handling of rows that another transaction has locked: wait for them, or skip them. */
export type LockedRows = 'wait' | 'skip';

/**
 * Register generations of different documents before writing any of their data, so that a sweep can delete what a crash
 * leaves.
 * @param locked `skip` to wait for no lock, and to omit generations whose document is locked
 * @returns ids of the registered generations, whose documents are neither deleted nor being deleted
 */
export async function registerGenerations(
  sql: Sql,
  generations: readonly NewGeneration[],
  locked: LockedRows = 'wait',
): Promise<Set<number>> {
  const given = valueRows(sql, 'given', generations, {
    id: ['bigint', ({ id }) => id],
    org_id: ['text', ({ orgId }) => orgId],
    document_id: ['text', ({ documentId }) => documentId],
    job_id: ['text', ({ jobId }) => jobId],
    artifact_key: ['text', (each) => each.artifactKey],
    chunks_count: ['integer', ({ chunksCount }) => chunksCount],
    embed_model: ['text', ({ embedModel }) => embedModel],
    embed_revision: ['text', ({ embedRevision }) => embedRevision],
    space: ['text', ({ space }) => space],
    map_version: ['integer', ({ mapVersion }) => mapVersion],
    native_dimension: ['integer', ({ nativeDimension }) => nativeDimension],
    has_text: ['integer', ({ hasText }) => (hasText ? 1 : 0)],
    replaces: ['bigint', ({ replaces }) => replaces],
  });
  const rows = await sql<{ id: number }[]>`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model,
                             embed_revision, space, map_version, native_dimension, has_text, replaces)
    SELECT given.id, documents.org_id, documents.bucket_id, documents.id, job_id, artifact_key, given.chunks_count,
           given.embed_model, embed_revision, space, map_version, native_dimension, has_text = 1, replaces
    FROM ${given}
    JOIN documents ON documents.org_id = given.org_id AND documents.id = given.document_id
    WHERE documents.status <> 'deleting'
    ORDER BY documents.id
    FOR SHARE OF documents ${locked === 'skip' ? sql`SKIP LOCKED` : sql``}
    RETURNING id`;
  return new Set(rows.map(({ id }) => Number(id)));
}
