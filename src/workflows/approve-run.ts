import { type Caller, requireScope } from '../access/caller.ts';
import { conflict, invalidRequest } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { RunContext } from './execute-run.ts';
import { isLeftOut } from './kept-values.ts';
import * as runStore from './run-store.ts';
import { carryOut, checkInputs, type Idempotent, readValid, runContinued } from './run-workflow.ts';
import type { ApproveRequest, RunReply, RunView } from './schema.ts';
import * as store from './store.ts';

/**
 * Decide on blocks of a run that waits for approvals, and continue it as a new run of the caller. Completed blocks keep
 * their results and don't run again. An approved block runs with the arguments that it showed. A declined block is
 * skipped. Blocks that were skipped because of the waiting ones run. Blocks without a decision wait in the new run. A
 * run can be continued only once.
 *
 * @throws AppError `workflow_not_found`, `workflow_run_not_found` (404), 400 for decisions on blocks that aren't
 *   waiting, 403 without `workflows:run`, `run_not_waiting`, `run_continued`, `run_outdated`, `run_values_missing`,
 *   `definition_outdated`, `run_over`, `idempotency_in_progress` (409), `idempotency_key_reused` (422)
 */
export async function approveRun(
  context: RunContext,
  caller: Caller,
  { workflow: ref, run: runId }: { readonly workflow: string; readonly run: string },
  input: ApproveRequest & { readonly idempotent?: Idempotent | null; readonly origin?: string | null },
  signal?: AbortSignal,
): Promise<RunReply> {
  requireScope(caller, 'workflows:run');
  const { approvals, idempotent = null, origin = null } = input;
  const { sql } = context;
  const workflow = await store.findWorkflow(sql, caller.orgId, ref);
  const waiting = await runStore.findRun(sql, caller, workflow.id, runId);
  checkWaits(waiting);
  checkDecisions(waiting, approvals);
  if (workflow.published_version !== waiting.version) {
    const message = `the run used version ${waiting.version}, which is no longer published; run the workflow again`;
    throw conflict(message, 'run_outdated');
  }
  const definition = await readValid(context, caller.orgId, workflow.id, waiting.version);
  checkKept(context, waiting, approvals);
  const given = waiting.inputs as Readonly<Record<string, unknown>>;
  const run: runStore.NewRun = {
    id: newId('run'),
    workflowId: workflow.id,
    version: waiting.version,
    mode: 'live',
    inputs: given,
    continues: waiting.run_id,
  };
  const inputs = checkInputs(definition, given);
  const waited = new Map(waiting.blocks.map((block) => [block.id, block]));
  return carryOut(context, caller, run, { definition, idempotent, approvals, inputs, waited, origin, signal });
}

/** Check that a run waits for approvals. @throws AppError `run_not_waiting`, `run_continued` (409) */
export function checkWaits({ status, continued_by }: Pick<RunView, 'status' | 'continued_by'>): void {
  if (continued_by !== null) throw runContinued(continued_by);
  if (status !== 'needs_approval')
    throw conflict(`the run does not wait for approvals; it is "${status}"`, 'run_not_waiting');
}

/** @throws AppError 400 */
function checkDecisions({ blocks }: RunView, approvals: Readonly<Record<string, boolean>>): void {
  const waiting = blocks.filter((block) => block.status === 'needs_approval').map(({ id }) => id);
  for (const id of Object.keys(approvals)) {
    if (waiting.includes(id)) continue;
    const message = `approvals.${id}: no block "${id}" of the run waits for an approval; these do: ${waiting.join(', ')}`;
    throw invalidRequest(message, `approvals.${id}`);
  }
}

/**
 * Check that the history has the values needed to continue the run. It omits large values, and values of runs that show
 * deleted documents. Blocks without side effects whose output is missing run again.
 *
 * @throws AppError `run_values_missing` (409)
 */
function checkKept(
  { blocks: types }: RunContext,
  { inputs, blocks }: RunView,
  approvals: Readonly<Record<string, boolean>>,
): void {
  const missing = blocks.filter(({ id, type, status, output, would }) => {
    if (Object.hasOwn(approvals, id)) return isLeftOut(would);
    return status === 'completed' && isLeftOut(output) && types.get(type)?.hasSideEffect === true;
  });
  if (!isLeftOut(inputs) && missing.length === 0) return;
  const names = isLeftOut(inputs) ? 'its inputs' : `those of the blocks ${missing.map(({ id }) => id).join(', ')}`;
  const message = `the history did not keep all values of the run (${names}), because they are large or show a deleted document; run the workflow again`;
  throw conflict(message, 'run_values_missing');
}
