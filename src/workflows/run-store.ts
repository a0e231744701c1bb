import type { Caller } from '../access/caller.ts';
import { isOrgAdminRole } from '../access/roles.ts';
import { hiddenAmong } from '../documents/hidden-among-store.ts';
import { notFound } from '../platform/errors.ts';
import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { toKept, toKeptText } from './kept-values.ts';
import type { BlockResult, ContinuingRun, RunMode, RunStatus, RunSummary, RunView } from './schema.ts';

type Row = Readonly<Record<string, unknown>>;
/** JSON value for the driver. */
type Json = Parameters<Sql['json']>[0];

export interface NewRun {
  readonly id: string;
  readonly workflowId: string;
  readonly version: number;
  readonly mode: RunMode;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Id of the waiting run that this one continues. */
  readonly continues?: string;
}

/**
 * Insert a run.
 *
 * @returns false if the caller already has a run with this idempotency key, or if another run continues the same run
 */
export async function insertRun(
  tx: Sql,
  caller: Caller,
  run: NewRun,
  idempotent: { readonly key: string; readonly fingerprint: Buffer } | null,
): Promise<boolean> {
  const rows = await tx`
    INSERT INTO workflow_runs (id, org_id, workflow_id, version, mode, status, actor, auth_level, idempotency_key,
                               fingerprint, inputs, continues)
    VALUES (${run.id}, ${caller.orgId}, ${run.workflowId}, ${run.version}, ${run.mode}, 'running', ${caller.actor},
            ${caller.authLevel}, ${idempotent?.key ?? null}, ${idempotent?.fingerprint ?? null},
            ${tx.json(toKept(run.inputs).value as Json)}, ${run.continues ?? null})
    ON CONFLICT DO NOTHING
    RETURNING 1`;
  return rows.length === 1;
}

/** Write the heartbeat of a run. Return false if the run must stop because it counts as failed or was deleted. */
export async function touchRun(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const rows = await sql`
    UPDATE workflow_runs SET heartbeat_at = now()
    WHERE org_id = ${orgId} AND id = ${id} AND status = 'running' RETURNING 1`;
  return rows.length === 1;
}

/** Store the state of a block. Return false under the conditions of `touchRun`. */
export async function recordBlock(
  sql: Sql,
  orgId: string,
  runId: string,
  position: number,
  result: BlockResult,
): Promise<boolean> {
  const output = toKept(result.output);
  const would = toKept(result.would ?? null);
  const values = { output: output.value, ...(result.would === undefined ? {} : { would: would.value }) };
  const kept = { ...result, ...values, error: toKeptText(result.error) };
  const documentIds = [...new Set([...output.documentIds, ...would.documentIds])];
  const rows = await sql`
    INSERT INTO workflow_run_blocks (run_id, position, result, document_ids)
    SELECT id, ${position}::int, ${sql.json(kept as Json)}::jsonb, ${sql.array(documentIds)}::text[] FROM workflow_runs
    WHERE org_id = ${orgId} AND id = ${runId} AND status = 'running' FOR SHARE
    ON CONFLICT (run_id, position) DO UPDATE SET result = excluded.result, document_ids = excluded.document_ids
    RETURNING 1`;
  return rows.length === 1;
}

/** End a run. Return false if it has already ended. */
export async function finishRun(
  sql: Sql,
  orgId: string,
  id: string,
  end: { readonly status: RunStatus; readonly output: unknown; readonly error: string | null },
): Promise<boolean> {
  const rows = await sql`
    UPDATE workflow_runs SET status = ${end.status}, output = ${sql.json(toKept(end.output).value as Json)},
           error = ${toKeptText(end.error)}, finished_at = now()
    WHERE org_id = ${orgId} AND id = ${id} AND status = 'running' RETURNING 1`;
  return rows.length === 1;
}

/**
 * Mark runs without a heartbeat for `silentMs`, and their running blocks, as failed, across all organizations.
 *
 * @returns number of runs
 */
export async function failSilentRuns(
  sql: Sql,
  silentMs: number,
  reasons: { readonly run: string; readonly block: string },
): Promise<number> {
  const failure = { status: 'failed', error: reasons.block };
  const [row] = await sql<{ runs: number }[]>`
    WITH silent AS (
      UPDATE workflow_runs SET status = 'failed', error = ${reasons.run}, finished_at = now()
      WHERE status = 'running' AND heartbeat_at < now() - ${silentMs} * interval '1 millisecond' RETURNING id
    ), interrupted AS (
      UPDATE workflow_run_blocks SET result = result || ${sql.json(failure)}
      FROM silent WHERE run_id = silent.id AND result ->> 'status' = 'running'
    )
    SELECT count(*) AS runs FROM silent`;
  return row?.runs ?? 0;
}

/** Delete runs older than `ageMs`, across all organizations. */
export async function deleteOldRuns(sql: Sql, ageMs: number): Promise<void> {
  await sql`
    DELETE FROM workflow_runs
    WHERE status <> 'running' AND started_at < now() - ${ageMs} * interval '1 millisecond'`;
}

/** Erase inputs, outputs and arguments of runs that name one of these documents. Keep their states. */
export async function eraseRunsAbout(tx: Sql, orgId: string, documentIds: readonly string[]): Promise<void> {
  const erased = tx.json({ left_out: 'values of a run that shows deleted documents' });
  await tx`
    WITH named AS (
      SELECT DISTINCT run_id FROM workflow_run_blocks JOIN workflow_runs ON workflow_runs.id = run_id
      WHERE org_id = ${orgId} AND document_ids && ${tx.array([...documentIds])}::text[]
    ), runs AS (
      UPDATE workflow_runs SET inputs = ${erased}, output = ${erased}, error = NULL
      FROM named WHERE id = named.run_id
    )
    UPDATE workflow_run_blocks SET document_ids = '{}',
           result = result || jsonb_build_object('output', ${erased}::jsonb, 'would', ${erased}::jsonb, 'error', NULL)
    FROM named WHERE workflow_run_blocks.run_id = named.run_id`;
}

/** List runs of a workflow that the caller may see, newest first. @param page.after last run of the previous page */
export async function listRunRows(
  sql: Sql,
  caller: Caller,
  workflowId: string,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<RunSummary[]> {
  const rows = await sql`
    SELECT ${summaryOf(sql)} FROM workflow_runs
    WHERE workflow_id = ${workflowId} AND ${visibleTo(sql, caller)} ${after === undefined ? sql`` : sql`AND id < ${after}`}
    ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(toSummary);
}

/** List runs of all workflows that the caller may see, newest first. */
export async function selectRecentRuns(sql: Sql, caller: Caller, limit: number): Promise<RunSummary[]> {
  const rows = await sql`
    SELECT ${summaryOf(sql)} FROM workflow_runs
    WHERE ${visibleTo(sql, caller)} ORDER BY started_at DESC, id DESC LIMIT ${limit}`;
  return rows.map(toSummary);
}

/** Run that waits for an approval. */
export interface WaitingRun {
  readonly run_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly actor: string;
  readonly started_at: string;
}

/** List runs that wait for an approval and that the caller may see, newest first. */
export async function selectWaitingRuns(sql: Sql, caller: Caller, limit: number): Promise<WaitingRun[]> {
  const rows = await sql`
    SELECT workflow_runs.id AS run_id, workflow_id, workflows.name AS workflow_name, actor, started_at
    FROM workflow_runs JOIN workflows ON workflows.id = workflow_id
    WHERE workflow_runs.status = 'needs_approval' AND ${visibleTo(sql, caller)}
      AND NOT EXISTS (SELECT 1 FROM workflow_runs next WHERE next.continues = workflow_runs.id)
    ORDER BY started_at DESC, workflow_runs.id DESC LIMIT ${limit}`;
  return rows.map(withIsoTimes<WaitingRun>);
}

/** Find a run. @throws AppError `workflow_run_not_found` (404), even if the caller just may not see it */
export async function findRun(sql: Sql, caller: Caller, workflowId: string, id: string): Promise<RunView> {
  const [row] = await sql`
    SELECT ${summaryOf(sql)}, inputs, output, ${blocksOf(sql)} AS blocks, ${hidesDocument(sql, caller)} AS hides
    FROM workflow_runs
    WHERE workflow_id = ${workflowId} AND id = ${id} AND ${visibleTo(sql, caller)}`;
  if (!row) throw notFound('workflow run', id);
  return toRun(row);
}

/** Find the caller's run with an idempotency key. */
export async function findRunByKey(
  sql: Sql,
  caller: Caller,
  key: string,
): Promise<{ run: RunView; fingerprint: Uint8Array } | null> {
  const [row] = await sql`
    SELECT ${summaryOf(sql)}, fingerprint, inputs, output, ${blocksOf(sql)} AS blocks,
           ${hidesDocument(sql, caller)} AS hides
    FROM workflow_runs
    WHERE org_id = ${caller.orgId} AND actor = ${caller.actor} AND idempotency_key = ${key}`;
  return row ? { run: toRun(row), fingerprint: row['fingerprint'] as Uint8Array } : null;
}

export async function findContinuing(sql: Sql, orgId: string, id: string): Promise<ContinuingRun | null> {
  const [row] = await sql<ContinuingRun[]>`
    SELECT id AS run_id, actor, status FROM workflow_runs WHERE org_id = ${orgId} AND continues = ${id}`;
  return row ?? null;
}

/** Return the columns of a `RunSummary`. */
function summaryOf(sql: Sql): SqlFragment {
  return sql`
    id AS run_id, workflow_id, version, mode, status, actor, error, started_at, finished_at, continues,
    (SELECT jsonb_build_object('run_id', next.id, 'actor', next.actor, 'status', next.status)
     FROM workflow_runs next WHERE next.continues = workflow_runs.id) AS continued_by`;
}

function blocksOf(sql: Sql): SqlFragment {
  return sql`(SELECT coalesce(jsonb_agg(result ORDER BY position), '[]') FROM workflow_run_blocks WHERE run_id = id)`;
}

/** Build the condition that a run shows a document that the caller can't currently read. */
function hidesDocument(sql: Sql, caller: Caller): SqlFragment {
  return sql`EXISTS (
    SELECT 1 FROM workflow_run_blocks
    WHERE run_id = workflow_runs.id AND ${hiddenAmong(sql, caller, sql`workflow_run_blocks.document_ids`)})`;
}

/**
 * Build the condition that the caller may see a row of `workflow_runs`. Results show data of the run's caller.
 * Therefore only that caller sees them, the person for whom a client ran it, and administrators with at least the same
 * auth level.
 */
function visibleTo(sql: Sql, caller: Caller): SqlFragment {
  const own = sql`workflow_runs.org_id = ${caller.orgId}`;
  if (!isOrgAdminRole(caller.role) && !caller.scopes.has('platform_admin')) return sql`${own} AND ${isOf(sql, caller)}`;
  return sql`${own} AND (${isOf(sql, caller)} OR workflow_runs.auth_level <= ${caller.authLevel})`;
}

/** Build the condition that the run belongs to the caller, or to a client that the caller authorised. */
function isOf(sql: Sql, { orgId, actor }: Caller): SqlFragment {
  return sql`(workflow_runs.actor = ${actor} OR workflow_runs.actor IN (
    SELECT 'grant:' || g.id FROM oauth_grants g WHERE g.org_id = ${orgId} AND g.actor = ${actor}))`;
}

const toSummary = withIsoTimes<RunSummary>;

function toRun({ hides, fingerprint: _, inputs, blocks, output, ...summary }: Row): RunView {
  const run = { ...toSummary(summary), inputs, blocks: blocks as BlockResult[], output: output ?? null };
  return hides === true ? withoutValues(run) : run;
}

/** Remove the values of a run: it shows a document that the reader may no longer read. */
function withoutValues(run: RunView): RunView {
  const hidden = { left_out: 'values of a run that shows documents that you may no longer read' };
  const blocks = run.blocks.map(({ would, ...result }) => ({
    ...result,
    output: hidden,
    error: null,
    ...(would === undefined ? {} : { would: hidden }),
  }));
  return { ...run, error: null, inputs: hidden, blocks, output: hidden };
}
