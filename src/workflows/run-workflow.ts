import { isSameHash } from '../access/api-key-format.ts';
import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { typeNameOf } from './check-block.ts';
import { type Decisions, type Execution, executeRun, type RunContext } from './execute-run.ts';
import * as runStore from './run-store.ts';
import type { ContinuingRun, Definition, RunMode, RunReply, RunSummary, RunView } from './schema.ts';
import * as store from './store.ts';
import { validateDefinition } from './validate-definition.ts';

export interface RunInput extends Decisions {
  readonly mode: RunMode;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly idempotent?: Idempotent | null;
  /** Address of this service for links in results. */
  readonly origin?: string | null;
}

/** Idempotency key and fingerprint of a request. A repeated key returns the run from the history. */
export interface Idempotent {
  readonly key: string;
  readonly fingerprint: Buffer;
}

/**
 * Run a workflow: `live` and `simulate` run the published version, `dry_run` the latest. Without a published version,
 * the result is `needs_review`. Blocks run with the caller's rights. A block with a side effect runs only in a live
 * run, with an approval, and for a caller with `workflows:approve`.
 *
 * @throws AppError `workflow_not_found` (404), 400 for wrong inputs and for approvals of unknown blocks,
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
  const run: runStore.NewRun = { id: newId('run'), workflowId: workflow.id, version, mode, inputs: input.inputs };
  const { ask, origin = null } = input;
  const decisions = ask === undefined ? { approvals } : { approvals, ask };
  return carryOut(context, caller, run, { definition, idempotent, ...decisions, inputs, origin, signal });
}

/**
 * Record a run in the history, execute it and return the reply. A repeated `Idempotency-Key` returns the earlier run.
 *
 * @throws AppError `run_continued` (409) if another run already continues the same one, `run_over`,
 *   `idempotency_in_progress` (409), `idempotency_key_reused` (422)
 */
export async function carryOut(
  context: RunContext,
  caller: Caller,
  run: runStore.NewRun,
  { definition, idempotent, ...execution }: Execution & { definition: Definition; idempotent: Idempotent | null },
): Promise<RunReply> {
  const { sql } = context;
  const { id, workflowId, version, mode, continues } = run;
  const isNew = await sql.begin(async (tx) => {
    if (!(await runStore.insertRun(tx, caller, run, idempotent))) return false;
    const { orgId, actor } = caller;
    const detail = { run_id: id, version, ...(continues === undefined ? {} : { continues }) };
    if (mode === 'live') await recordAudit(tx, { orgId, actor, action: 'workflow.run', target: workflowId, detail });
    return true;
  });
  if (!isNew) return replyOfFirst(sql, caller, run, idempotent);
  const { status, blocks, output, error } = await executeRun(context, caller, run, definition, execution);
  const { notify } = definition;
  if (mode === 'live' && status === 'needs_approval' && notify !== undefined) {
    const { name } = await store.findWorkflow(sql, caller.orgId, workflowId);
    const args = { workflow: name, run: id, url: pageOfRun(workflowId, id, execution.origin) };
    await context.notify(caller, { ...notify, template_args: args }, `approval:${id}`);
  }
  return { run_id: id, workflow_id: workflowId, version, mode, status, blocks: [...blocks], output, error };
}

/** Return the URL of a run's page, or only its path if the service's address is unknown. */
export function pageOfRun(workflowId: string, runId: string, origin: string | null | undefined): string {
  return `${origin ?? ''}/console/workflows/${workflowId}/runs/${runId}`;
}

/**
 * Read a version and validate it again, since the rules may have changed.
 * @throws AppError `definition_outdated` (409)
 */
export async function readValid(
  context: RunContext,
  orgId: string,
  workflowId: string,
  version: number,
): Promise<Definition> {
  const stored = await store.readDefinition(context.sql, orgId, workflowId, version);
  const checked = validateDefinition(context.blocks, stored);
  if ('definition' in checked) return checked.definition;
  const message = `version ${version} is not valid here; add a version without these faults:\n${checked.faults.join('\n')}`;
  throw conflict(message, 'definition_outdated');
}

/** Answer a repeated request. Never repeat a run, whatever its outcome. */
async function replyOfFirst(
  sql: Sql,
  caller: Caller,
  { continues }: runStore.NewRun,
  idempotent: Idempotent | null,
): Promise<RunReply> {
  const first = idempotent ? await runStore.findRunByKey(sql, caller, idempotent.key) : null;
  if (first === null || !idempotent) {
    const next = continues === undefined ? null : await runStore.findContinuing(sql, caller.orgId, continues);
    if (next !== null) throw runContinued(next);
    throw conflict('the history of this run was just removed; send the request again');
  }
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

/** Create the error 409 `run_continued`. */
export function runContinued({ actor, run_id }: ContinuingRun): AppError {
  return conflict(`${actor} already continued the run, as ${run_id}; nothing was changed`, 'run_continued');
}

/** Validate inputs against their declarations, and add defaults. @throws AppError 400 */
export function checkInputs(definition: Definition, given: Readonly<Record<string, unknown>>): Map<string, unknown> {
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
