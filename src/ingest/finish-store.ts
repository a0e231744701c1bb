import { isClosing } from '../index/index-store.ts';
import { isInProgress } from '../jobs/state-store.ts';
import { type HeldJob, readyState } from '../jobs/store.ts';
import { storableJson } from '../platform/postgres/storable-json.ts';
import { valueRows } from '../platform/postgres/value-rows.ts';
import type { Sql } from '../platform/postgres.ts';
import type { LockedRows, NewGeneration } from './generation-store.ts';

/** Job whose generation has been written. */
export interface WrittenIngest {
  readonly held: HeldJob;
  readonly generation: NewGeneration;
  readonly fileType: string;
  readonly pageCount: number | null;
  readonly cost: number;
  /** Table of the rows if they have no vectors yet; otherwise null. */
  readonly tableName: string | null;
  /** Data to add to the job's snapshot; null for none. */
  readonly snapshot: Readonly<Record<string, unknown>> | null;
}

/**
 * - `ready`: the job is finished, and searches find the generation.
 * - `lost`: the job is no longer held, or its document is deleted or being deleted.
 * - `moved`: the bucket's index has or will soon have vectors of another latent space, or rows without vectors are in a
 *   table that was replaced.
 */
export type IngestOutcome = 'ready' | 'lost' | 'moved';

/**
 * Finish jobs, and make their generations searchable. If search is disabled for a document, no generation becomes
 * active. Leave jobs that are not `ready` unchanged. If several jobs concern one document, the generation of the job
 * claimed last becomes active, since that job has read the latest fields. Rows are locked in the order of all writers:
 * jobs, bucket indexes, documents, each by id.
 * @param locked `skip` to wait for no lock: `lost` and `moved` may then also mean that another transaction has locked a
 *   row of the job, its bucket or its document
 */
export async function finishIngests(
  sql: Sql,
  written: readonly WrittenIngest[],
  locked: LockedRows = 'wait',
): Promise<IngestOutcome[]> {
  const skipped = locked === 'skip' ? sql`SKIP LOCKED` : sql``;
  const jobs = valueRows(sql, 'written', written, {
    job_id: ['text', ({ held }) => held.id],
    fence: ['bigint', ({ held }) => held.fence],
    org_id: ['text', ({ generation }) => generation.orgId],
    bucket_id: ['text', ({ generation }) => generation.bucketId],
    document_id: ['text', ({ generation }) => generation.documentId],
    generation: ['bigint', ({ generation }) => generation.id],
    space: ['text', ({ generation }) => generation.space],
    table_name: ['text', ({ tableName }) => tableName],
    chunks_count: ['integer', ({ generation }) => generation.chunksCount],
    embed_model: ['text', ({ generation }) => generation.embedModel],
    file_type: ['text', ({ fileType }) => fileType],
    page_count: ['integer', ({ pageCount }) => pageCount],
    cost: ['double', ({ cost }) => cost],
    snapshot: ['text', ({ snapshot }) => snapshot && storableJson(snapshot)],
  });
  const rows = await sql<{ job_id: string; outcome: IngestOutcome }[]>`
    WITH written AS (SELECT * FROM ${jobs}),
    held AS MATERIALIZED (
      SELECT written.* FROM jobs JOIN written ON written.job_id = jobs.id AND written.fence = jobs.fence
      WHERE ${isInProgress(sql)} ORDER BY jobs.id FOR NO KEY UPDATE OF jobs ${skipped}),
    indexes AS MATERIALIZED (
      SELECT index_tables.bucket_id, index_tables.space,
             coalesce(index_tables.table_name, index_tables.bucket_id) AS name FROM index_tables
      WHERE index_tables.bucket_id = ANY(ARRAY(SELECT bucket_id FROM held)) AND NOT ${isClosing(sql)}
      ORDER BY index_tables.bucket_id FOR KEY SHARE OF index_tables ${skipped}),
    found AS MATERIALIZED (
      SELECT documents.id AS found_id, held.*
      FROM documents
      JOIN held ON held.document_id = documents.id AND held.org_id = documents.org_id
      JOIN indexes ON indexes.bucket_id = held.bucket_id
                  AND (indexes.space = held.space OR indexes.name = held.table_name)
      WHERE documents.status <> 'deleting' ORDER BY documents.id FOR NO KEY UPDATE OF documents ${skipped}),
    activated AS (
      UPDATE documents SET active_generation = CASE WHEN searchable THEN found.generation END, stored_generation = NULL,
             status = 'ready', keyword_only = searchable AND found.table_name IS NOT NULL, content_pending = false, error_message = NULL,
             file_type = found.file_type, page_count = found.page_count,
             chunks_count = CASE WHEN searchable THEN found.chunks_count END,
             embed_model = CASE WHEN found.table_name IS NULL THEN found.embed_model END, updated_at = now()
      FROM (SELECT DISTINCT ON (found_id) * FROM found ORDER BY found_id, generation DESC) AS found
      WHERE documents.id = found.found_id),
    finished AS (
      UPDATE jobs SET ${readyState(sql)}, chunks_count = found.chunks_count, file_type = found.file_type,
             actual_cost = found.cost, metadata_snapshot = CASE WHEN found.snapshot IS NULL THEN metadata_snapshot
               ELSE coalesce(metadata_snapshot, '{}') || found.snapshot::jsonb END
      FROM found WHERE jobs.id = found.job_id)
    SELECT job_id, CASE WHEN job_id IN (SELECT job_id FROM found) THEN 'ready'
                        WHEN EXISTS (SELECT 1 FROM indexes WHERE indexes.bucket_id = held.bucket_id AND
                          (indexes.space = held.space OR indexes.name = held.table_name)) THEN 'lost'
                        ELSE 'moved' END AS outcome
    FROM held`;
  const outcomes = new Map(rows.map(({ job_id: jobId, outcome }) => [jobId, outcome]));
  return written.map(({ held }) => outcomes.get(held.id) ?? 'lost');
}
