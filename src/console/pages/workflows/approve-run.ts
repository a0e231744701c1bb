import { ApiError, call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import type { Page } from '../../lib/resource.ts';
import type { RunReply, RunSummary, RunView, WorkflowDetail } from '../../types.ts';

/** Latest runs among which the one that made the changes is looked for. */
const RUNS_CHECKED = 20;

/** Tell if the history did not keep a value: it was too large, or it showed a document that was deleted. */
export function isLeftOut(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === 'left_out';
}

/**
 * Find a later live run of the same version with the same inputs that began one of these changes: somebody has approved
 * it there. A run that has not ended counts too, since it may be about to.
 */
export async function findLaterRun(
  run: RunView,
  blockIds: readonly string[],
  signal?: AbortSignal,
): Promise<RunView | null> {
  const path = pathOf('v1', 'workflows', run.workflow_id, 'runs');
  const { data } = await call<Page<RunSummary>>(path, { query: { limit: RUNS_CHECKED }, signal });
  const later = data.filter((each) => each.run_id > run.run_id && each.mode === 'live' && each.version === run.version);
  const inputs = JSON.stringify(run.inputs);
  for (const { run_id } of later) {
    const other = await call<RunView>(`${path}/${encodeURIComponent(run_id)}`, { signal });
    if (JSON.stringify(other.inputs) !== inputs) continue;
    const hasBegun = other.blocks.some(({ id, status }) => blockIds.includes(id) && BEGUN.has(status));
    if (hasBegun || other.status === 'running') return other;
  }
  return null;
}

const BEGUN: ReadonlySet<string> = new Set(['running', 'completed', 'failed']);

/**
 * Run a workflow again with the inputs of a run that waits, and with approvals. The same person cannot do so twice.
 *
 * @throws ApiError 409 if the changes were made or tried meanwhile, or if another version was published
 */
export async function approveRun(run: RunView, blockIds: readonly string[]): Promise<RunReply> {
  const workflow = await call<WorkflowDetail>(pathOf('v1', 'workflows', run.workflow_id));
  if (workflow.published_version !== run.version)
    throw new ApiError(409, t('Another version was published meanwhile.'));
  const later = await findLaterRun(run, blockIds);
  if (later !== null) throw decidedBy(later.actor);
  const json = { inputs: run.inputs, mode: 'live', approvals: Object.fromEntries(blockIds.map((id) => [id, true])) };
  try {
    const path = pathOf('v1', 'workflows', run.workflow_id, 'run');
    return await call<RunReply>(path, { method: 'POST', json, idempotencyKey: `approve-${run.run_id}` });
  } catch (error) {
    const isSecond = error instanceof ApiError && error.code === 'idempotency_key_reused';
    throw isSecond ? new ApiError(409, t('You have already approved changes of this run.')) : error;
  }
}

function decidedBy(actor: string): ApiError {
  return new ApiError(409, t('{actor} has run it with these inputs meanwhile. Nothing was done now.', { actor }));
}
