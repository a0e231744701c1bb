import { type HeldJob, isHeldJob } from '../jobs/store.ts';
import { storableValue } from '../platform/postgres/storable-json.ts';
import type { Sql } from '../platform/postgres.ts';
import type { UsedModel } from '../usage/ledger.ts';

/** Error of a failed request, as its endpoint would return it. */
export interface RequestFault {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly status: number;
}

/** Model that embeds the requests of a group, or the reason why none can. */
export type GroupChoice =
  | { readonly backend: string; readonly dimensions: number; readonly fault: null }
  | { readonly fault: RequestFault };

/** Read the model choices of a batch, in group order; empty before the choice. */
export async function selectChoices(sql: Sql, batchId: string): Promise<GroupChoice[]> {
  const rows = await sql`
    SELECT backend, vector_dimensions, fault FROM batch_groups WHERE batch_id = ${batchId} ORDER BY group_no`;
  return rows.map((row) =>
    row['fault'] === null
      ? { backend: row['backend'] as string, dimensions: row['vector_dimensions'] as number, fault: null }
      : { fault: row['fault'] as RequestFault },
  );
}

export async function insertChoices(tx: Sql, batchId: string, choices: readonly GroupChoice[]): Promise<void> {
  const rows = choices.map((choice, group) => ({
    group,
    backend: choice.fault === null ? choice.backend : null,
    dimensions: choice.fault === null ? choice.dimensions : null,
    fault: choice.fault,
  }));
  await tx`
    INSERT INTO batch_groups (batch_id, group_no, backend, vector_dimensions, fault)
    SELECT ${batchId}, "group", backend, dimensions, nullif(fault, 'null'::jsonb)
    FROM jsonb_to_recordset(${tx.json(storableValue(rows) as never)}::jsonb)
      AS chosen ("group" int, backend text, dimensions int, fault jsonb)`;
}

/** Switch the rest of a group to another model. Return false if the job is no longer held. */
export async function updateChoice(
  sql: Sql,
  held: HeldJob,
  batchId: string,
  group: number,
  choice: { readonly backend: string; readonly dimensions: number },
): Promise<boolean> {
  const rows = await sql`
    UPDATE batch_groups SET backend = ${choice.backend}, vector_dimensions = ${choice.dimensions} FROM jobs
    WHERE batch_id = ${batchId} AND group_no = ${group} AND ${isHeldJob(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Usage of a stored chunk. */
export interface ChunkUsage {
  /** Latent space of its vectors; null if every text was refused. */
  readonly space: string | null;
  readonly used: readonly UsedModel[];
  readonly cost: number;
}

/** Read the stored chunks of a batch by number, in completion order. */
export async function selectChunks(sql: Sql, batchId: string): Promise<Map<number, ChunkUsage>> {
  const rows = await sql`
    SELECT chunk, space, used, cost FROM batch_chunks WHERE batch_id = ${batchId} ORDER BY finished_at, chunk`;
  return new Map(
    rows.map((row) => [
      row['chunk'] as number,
      { space: row['space'] as string | null, used: row['used'] as UsedModel[], cost: row['cost'] as number },
    ]),
  );
}

/**
 * Record a stored chunk and the resulting request counts. Lock the job's row until the transaction ends. Return false
 * if the job is no longer held.
 */
export async function insertChunk(
  sql: Sql,
  held: HeldJob,
  batchId: string,
  chunk: { readonly number: number; readonly usage: ChunkUsage },
  counts: { readonly completed: number; readonly failed: number },
): Promise<boolean> {
  const { space, used, cost } = chunk.usage;
  const rows = await sql`
    WITH mine AS (
      SELECT id FROM jobs WHERE ${isHeldJob(sql, held)} FOR SHARE
    ), counted AS (
      UPDATE batches SET completed = greatest(completed, ${counts.completed}), failed = greatest(failed, ${counts.failed})
      FROM mine WHERE batches.id = ${batchId})
    INSERT INTO batch_chunks (batch_id, chunk, space, used, cost)
    SELECT ${batchId}, ${chunk.number}::int, ${space}::text, ${sql.json(used as never)}::jsonb, ${cost}::double precision
    FROM mine RETURNING 1`;
  return rows.length === 1;
}

/** Delete the records of stored chunks that must be embedded again. Return false if the job is no longer held. */
export async function deleteChunks(
  sql: Sql,
  held: HeldJob,
  batchId: string,
  chunks: readonly number[],
): Promise<boolean> {
  const [row] = await sql`
    WITH mine AS (
      SELECT id FROM jobs WHERE ${isHeldJob(sql, held)} FOR SHARE
    ), gone AS (
      DELETE FROM batch_chunks USING mine WHERE batch_id = ${batchId} AND chunk = ANY(${sql.array([...chunks])}::int[]))
    SELECT count(*)::int AS held FROM mine`;
  return row?.['held'] === 1;
}

/** Sum the usage of a job's batch by model. */
export async function selectUsed(sql: Sql, jobId: string): Promise<UsedModel[]> {
  return sql<UsedModel[]>`
    SELECT used.model, sum(used.texts)::bigint AS texts, sum(used.tokens)::bigint AS tokens
    FROM batches JOIN batch_chunks ON batch_chunks.batch_id = batches.id,
         jsonb_to_recordset(batch_chunks.used) AS used (model text, texts bigint, tokens bigint)
    WHERE batches.job_id = ${jobId} GROUP BY used.model ORDER BY 2 DESC, 1`;
}
