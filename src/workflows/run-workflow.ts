import { isSameHash } from '../access/api-key-format.ts';
import { recordAudit } from '../access/audit.ts';
import { type Caller, hasScope } from '../access/caller.ts';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import { mapPostgresError, type Sql } from '../platform/postgres.ts';
import type { BlockTypes } from './block-types.ts';
import { typeNameOf } from './check-block.ts';
import { type Outcome, runBlocks } from './run-blocks.ts';
import * as runStore from './run-store.ts';
import type { Block, Definition, RunMode, RunReply, RunSummary, RunView } from './schema.ts';
import * as store from './store.ts';
import { validateDefinition } from './validate-definition.ts';

/** Longest run that nobody is asked in; its caller waits for it. */
const RUN_MS_MAX = 300_000;
const HEARTBEAT_MS = 5_000;

export interface RunContext {
  readonly sql: Sql;
  readonly logger: Logger;
  readonly blocks: BlockTypes;
}

export interface RunInput {
  readonly mode: RunMode;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly approvals?: Readonly<Record<string, boolean>>;
  /** Ask a person about a block that has no approval yet. The run has no time limit then. */
  readonly ask?: (block: Block, would: Record<string, unknown>) => Promise<boolean>;
  /** A request with the same key is answered from the history; the workflow is not run again. */
  readonly idempotent?: { readonly key: string; readonly fingerprint: Buffer } | null;
  /** Address of this service for links in results. */
  readonly origin?: string | null;
}

/**
 * Run a workflow: `live` and `simulate` its published version, `dry_run` its latest. A workflow without a published
 * version answers `needs_review`. Blocks run with the rights of the caller. A block with a side effect runs only in a
 * live run, only if it is approved, and only for a caller with `workflows:approve`.
 *
 * @throws AppError `workflow_not_found` (404), 400 for wrong inputs and for approvals of blocks that are not there,
 *   `definition_outdated`, `run_over`, `idempotency_in_progress` (409), `idempotency_key_reused` (422)
 */
export async function runWorkflow(
  context: RunContext,
  caller: Caller,
  ref: string,
  input: RunInput,
  signal?: AbortSignal,
): Promise<RunReply> {
  const { sql } = context;
  const { mode, approvals = {}, idempotent = null } = input;
  const workflow = await store.findWorkflow(sql, caller.orgId, ref);
  const version = mode === 'dry_run' ? workflow.latest_version : workflow.published_version;
  if (version === null) {
    const error = 'the workflow is a draft; review it, then publish it';
    const nothing = { run_id: null, version: workflow.latest_version, blocks: [], output: null };
    return { workflow_id: workflow.id, mode, ...nothing, status: 'needs_review', error };
  }
  const definition = await readValid(context, caller.orgId, workflow.id, version);
  const inputs = checkInputs(definition, input.inputs);
  for (const id of Object.keys(approvals)) {
    if (definition.blocks.some((block) => block.id === id)) continue;
    throw invalidRequest(`approvals.${id}: the workflow has no block "${id}"`, `approvals.${id}`);
  }
  const about = { workflow_id: workflow.id, version, mode };
  const run: runStore.NewRun = { id: newId('run'), workflowId: workflow.id, version, mode, inputs: input.inputs };
  const isNew = await sql.begin(async (tx) => {
    if (!(await runStore.insertRun(tx, caller, run, idempotent))) return false;
    const { orgId, actor } = caller;
    const detail = { run_id: run.id, version };
    if (mode === 'live') await recordAudit(tx, { orgId, actor, action: 'workflow.run', target: workflow.id, detail });
    return true;
  });
  if (!isNew) return replyOfFirst(sql, caller, idempotent);
  const { status, blocks, output, error } = await execute(context, caller, run, definition, { input, inputs, signal });
  return { run_id: run.id, ...about, status, blocks: [...blocks], output, error };
}

/** Read a version. The rules may have changed since it was stored. @throws AppError `definition_outdated` (409) */
async function readValid(context: RunContext, orgId: string, workflowId: string, version: number): Promise<Definition> {
  const stored = await store.readDefinition(context.sql, orgId, workflowId, version);
  const checked = validateDefinition(context.blocks, stored);
  if ('definition' in checked) return checked.definition;
  const message = `version ${version} is not valid here; add a version without these faults:\n${checked.faults.join('\n')}`;
  throw conflict(message, 'definition_outdated');
}

/** Answer a repeated request. A run is never repeated, whatever became of it. */
async function replyOfFirst(sql: Sql, caller: Caller, idempotent: RunInput['idempotent']): Promise<RunReply> {
  const first = idempotent ? await runStore.findRunByKey(sql, caller, idempotent.key) : null;
  if (first === null || !idempotent) throw conflict('the history of this run was just removed; send the request again');
  const { run, fingerprint } = first;
  if (!isSameHash(fingerprint, idempotent.fingerprint)) {
    const message = 'this Idempotency-Key was used with another request; use a new key';
    throw new AppError({ code: 'idempotency_key_reused', status: 422, message });
  }
  if (run.status === 'running') {
    const message = 'a run with this Idempotency-Key is still in progress; try again shortly';
    throw new AppError({
      code: 'idempotency_in_progress',
      status: 409,
      message,
      retryable: true,
      retryAfterSeconds: 1,
    });
  }
  const { run_id, workflow_id, version, mode, status, blocks, output, error } = run;
  return { run_id, workflow_id, version, mode, status, blocks, output, error };
}

interface Execution {
  readonly input: RunInput;
  readonly inputs: ReadonlyMap<string, unknown>;
  readonly signal: AbortSignal | undefined;
}

/** Run the blocks, and record the end of the run whatever happens. */
async function execute(
  { sql, logger, blocks }: RunContext,
  caller: Caller,
  run: runStore.NewRun,
  definition: Definition,
  { input, inputs, signal }: Execution,
): Promise<Outcome> {
  const { orgId } = caller;
  const timeout = input.ask === undefined ? [AbortSignal.timeout(RUN_MS_MAX)] : [];
  const isOver = AbortSignal.any([...timeout, ...(signal === undefined ? [] : [signal])]);
  const heartbeat = setInterval(() => {
    runStore.touchRun(sql, orgId, run.id).catch((err) => logger.debug({ err }, 'a run has missed a heartbeat'));
  }, HEARTBEAT_MS);
  try {
    const { origin = null } = input;
    const about = { caller, workflowId: run.workflowId, origin, signal: isOver };
    const ended = await runBlocks(blocks, definition, about, {
      ...{ mode: run.mode, inputs },
      decide: (block, would) => decide(sql, caller, run, input, block, would),
      async record(result, position) {
        if (!(await runStore.recordBlock(sql, orgId, run.id, position, result))) throw runOver();
      },
      onFault: (err, block) => logger.error({ err, run: run.id, block: block.id }, 'a block of a workflow failed'),
    });
    const outcome = isOver.aborted && ended.status === 'failed' ? { ...ended, error: overReason(signal) } : ended;
    if (!(await runStore.finishRun(sql, orgId, run.id, outcome))) throw runOver();
    signal?.throwIfAborted();
    return outcome;
  } catch (error) {
    const end = { status: 'failed', output: null, error: endReason(error, isOver, signal) } as const;
    await runStore.finishRun(sql, orgId, run.id, end).catch((err) => logger.warn({ err }, 'a run could not be ended'));
    throw error;
  } finally {
    clearInterval(heartbeat);
  }
}

function overReason(signal: AbortSignal | undefined): string {
  return signal?.aborted
    ? 'the run was interrupted: its caller left, or the service stopped'
    : `the run took longer than ${RUN_MS_MAX / 1000} seconds`;
}

function endReason(thrown: unknown, isOver: AbortSignal, signal: AbortSignal | undefined): string {
  if (isOver.aborted) return overReason(signal);
  const error = mapPostgresError(thrown);
  return error instanceof AppError ? error.message : 'internal error';
}

/** Decide on a side effect, and write the approval to the audit log before it happens. */
async function decide(
  sql: Sql,
  caller: Caller,
  run: runStore.NewRun,
  { approvals = {}, ask }: RunInput,
  block: Block,
  would: Record<string, unknown>,
): Promise<string | null> {
  if (!hasScope(caller, 'workflows:approve')) return 'approvals need the scope "workflows:approve"';
  const isGiven = Object.hasOwn(approvals, block.id) && approvals[block.id] === true;
  if (!isGiven && ask === undefined) return `approvals.${block.id} is not true`;
  if (!isGiven && !(await ask?.(block, would))) return 'it was not approved';
  const { orgId, actor } = caller;
  await sql.begin(async (tx) => {
    // A person may have taken a while to answer.
    if (!(await runStore.touchRun(tx, orgId, run.id))) throw runOver();
    const detail = { run_id: run.id, block_id: block.id, type: block.type };
    await recordAudit(tx, { orgId, actor, action: 'workflow.approve', target: run.workflowId, detail });
  });
  return null;
}

/** Check inputs against their declarations, and add the defaults. @throws AppError 400 */
function checkInputs(definition: Definition, given: Readonly<Record<string, unknown>>): Map<string, unknown> {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(definition.inputs, name)) continue;
    throw invalidRequest(`inputs.${name}: the workflow has no such input`, `inputs.${name}`);
  }
  return new Map(
    Object.entries(definition.inputs).map(([name, { type, required, default: fallback }]) => {
      const value = (Object.hasOwn(given, name) ? given[name] : null) ?? fallback ?? null;
      if (value === null) {
        if (required) throw invalidRequest(`inputs.${name}: is required`, `inputs.${name}`);
        return [name, null];
      }
      if (typeNameOf(value) !== type) {
        throw invalidRequest(`inputs.${name}: must be of type ${type}, not ${typeNameOf(value)}`, `inputs.${name}`);
      }
      return [name, value];
    }),
  );
}

function runOver(): AppError {
  const message = 'the run was ended by others: it missed its heartbeats, or its workflow was deleted';
  return conflict(message, 'run_over');
}

/** List runs of a workflow that the caller may see, newest first. @throws AppError `workflow_not_found` (404) */
export async function listRuns(
  sql: Sql,
  caller: Caller,
  ref: string,
  page: { readonly limit: number; readonly after?: string | undefined },
): Promise<RunSummary[]> {
  const { id } = await store.findWorkflow(sql, caller.orgId, ref);
  return runStore.listRunRows(sql, caller, id, page);
}

/** Find a run that the caller may see. @throws AppError `workflow_not_found`, `workflow_run_not_found` (404) */
export async function getRun(sql: Sql, caller: Caller, ref: string, runId: string): Promise<RunView> {
  const { id } = await store.findWorkflow(sql, caller.orgId, ref);
  return runStore.findRun(sql, caller, id, runId);
}
