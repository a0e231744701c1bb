import type { Sql } from '../platform/postgres.ts';

/** Model whose documents are reprojected: only native vectors of this revision and length fit its map. */
export interface TargetModel {
  readonly id: string;
  readonly revision: string;
  readonly nativeDimension: number;
  readonly mapVersion: number;
}

/** Selection of the documents of a run. */
export interface RunScope {
  readonly runId: string;
  readonly orgId: string;
  readonly bucketId: string;
  readonly space: string;
  readonly targets: readonly TargetModel[];
  /**
   * True if every document is written to a new table; false if only documents of another map version are changed in
   * place.
   */
  readonly moves: boolean;
}

/** Live generation that is to be reprojected. */
export interface PendingDocument {
  readonly id: string;
  readonly collectionId: string | null;
  readonly privacyLevel: number;
  readonly eventTimeMs: number | null;
  readonly generation: number;
  readonly artifactKey: string;
  readonly chunksCount: number;
  readonly model: string;
}

/** Select documents that the run has not processed yet, in the order of ids, after `afterId`. */
export async function selectPending(
  sql: Sql,
  { runId, orgId, bucketId, targets, moves }: RunScope,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<PendingDocument[]> {
  const rows = await sql`
    SELECT d.id, d.collection_id, d.privacy_level, d.event_time, g.id AS generation, g.artifact_key, g.chunks_count,
           g.embed_model
    FROM documents d JOIN generations g ON g.id = d.active_generation
    JOIN unnest(${sql.array(targets.map((target) => target.id))}::text[],
                ${sql.array(targets.map((target) => target.revision))}::text[],
                ${sql.array(targets.map((target) => target.nativeDimension))}::int[],
                ${sql.array(targets.map((target) => target.mapVersion))}::bigint[]) AS t (model, revision, k, version)
      ON t.model = g.embed_model AND t.revision = g.embed_revision AND t.k = g.native_dimension
    WHERE d.org_id = ${orgId} AND d.bucket_id = ${bucketId} AND d.status <> 'deleting' AND d.id > ${afterId}
      AND ${
        moves
          ? sql`NOT EXISTS (SELECT 1 FROM generations n
                            WHERE n.document_id = d.id AND n.job_id = ${runId} AND n.replaces = g.id)`
          : sql`g.map_version IS DISTINCT FROM t.version`
      }
    ORDER BY d.id LIMIT ${limit}`;
  return rows.map((row) => ({
    id: row['id'] as string,
    collectionId: row['collection_id'] as string | null,
    privacyLevel: row['privacy_level'] as number,
    eventTimeMs: row['event_time'] instanceof Date ? row['event_time'].getTime() : null,
    generation: Number(row['generation']),
    artifactKey: row['artifact_key'] as string,
    chunksCount: row['chunks_count'] as number,
    model: row['embed_model'] as string,
  }));
}

/** Return true if this is the generation of the document that searches find. */
export async function isActive(sql: Sql, documentId: string, generation: number): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM documents WHERE id = ${documentId} AND active_generation = ${generation} AND status <> 'deleting'`;
  return rows.length > 0;
}

export async function nextGenerations(sql: Sql, count: number): Promise<number[]> {
  const rows = await sql`SELECT nextval('document_generations') AS id FROM generate_series(1, ${count})`;
  return rows.map((row) => Number(row['id']));
}

/** Select the generations that a killed run registered. */
export async function selectWritten(
  sql: Sql,
  runId: string,
): Promise<{ id: number; chunksCount: number; artifactKey: string; model: string; mapVersion: number | null }[]> {
  const rows = await sql`
    SELECT id, chunks_count, artifact_key, embed_model, map_version FROM generations WHERE job_id = ${runId}`;
  return rows.map((row) => ({
    id: Number(row['id']),
    chunksCount: row['chunks_count'] as number,
    artifactKey: row['artifact_key'] as string,
    model: row['embed_model'] as string,
    mapVersion: row['map_version'] as number | null,
  }));
}

/**
 * Activate generations of the run (null for all of them) in place of those that they were made from, in a transaction.
 * A document that was ingested again or deleted in the meantime keeps its generation.
 *
 * @returns ids of the documents that were changed
 */
export async function activateGenerations(
  tx: Sql,
  { runId, bucketId }: Pick<RunScope, 'runId' | 'bucketId'>,
  generations: readonly number[] | null,
): Promise<string[]> {
  const rows = await tx`
    UPDATE documents SET active_generation = g.id
    FROM generations g
    WHERE g.job_id = ${runId} AND g.bucket_id = ${bucketId} AND documents.id = g.document_id
      AND documents.active_generation = g.replaces AND documents.status <> 'deleting'
      ${generations === null ? tx`` : tx`AND g.id = ANY(${tx.array([...generations])}::bigint[])`}
    RETURNING documents.id`;
  return rows.map((row) => row['id'] as string);
}

/** Return true if searches find a document of the bucket for which the run has no generation. */
export async function hasUnwrittenDocuments(tx: Sql, { runId, bucketId }: RunScope): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM documents d
    WHERE d.bucket_id = ${bucketId} AND d.active_generation IS NOT NULL AND d.status <> 'deleting'
      AND NOT EXISTS (SELECT 1 FROM generations n
                      WHERE n.document_id = d.id AND n.job_id = ${runId} AND n.replaces = d.active_generation)
    LIMIT 1`;
  return rows.length > 0;
}
