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
  /** Revision of the model; null if no native vectors are stored. */
  readonly embedRevision: string | null;
  readonly space: string;
  /** Version of the map; null if the vectors are uncalibrated. */
  readonly mapVersion: number | null;
  /** Dimension of the native vectors; null if the artifact has none. */
  readonly nativeDimension: number | null;
  /** Generation that it was reprojected from; null if it is of an ingest job. */
  readonly replaces: number | null;
}

/** Wait of a statement for rows that another transaction has locked: it waits for them, or does without them. */
export type LockedRows = 'wait' | 'skip';

/**
 * Register generations of different documents before anything of them is written, so that remains of a crash can be swept.
 *
 * @param locked with `skip` the statement waits for nothing, and leaves out those whose document is locked
 * @returns ids of those that it has registered: their document is neither deleted nor being deleted
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
    replaces: ['bigint', ({ replaces }) => replaces],
  });
  const rows = await sql<{ id: number }[]>`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model,
                             embed_revision, space, map_version, native_dimension, replaces)
    SELECT given.id, documents.org_id, documents.bucket_id, documents.id, job_id, artifact_key, given.chunks_count,
           given.embed_model, embed_revision, space, map_version, native_dimension, replaces
    FROM ${given}
    JOIN documents ON documents.org_id = given.org_id AND documents.id = given.document_id
    WHERE documents.status <> 'deleting'
    ORDER BY documents.id
    FOR SHARE OF documents ${locked === 'skip' ? sql`SKIP LOCKED` : sql``}
    RETURNING id`;
  return new Set(rows.map(({ id }) => Number(id)));
}
