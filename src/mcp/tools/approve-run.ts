import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { WorkflowRun } from '../../client/schema.ts';
import type { ServiceApi } from '../../client/service-api.ts';
import { AppError } from '../../platform/errors.ts';
import type { PersonDialog, Question, ToolContext } from '../tool.ts';

type Run = z.output<typeof WorkflowRun>;

const WaitingBlock = z.looseObject({ id: z.string(), type: z.string(), status: z.string(), would: z.unknown() });
const WaitingRun = z.looseObject({
  run_id: z.string(),
  workflow_id: z.string(),
  status: z.literal('needs_approval'),
  blocks: z.array(WaitingBlock),
  approval_url: z.string().optional(),
});
export type WaitingRun = z.output<typeof WaitingRun>;

const State = z.object({ workflow: z.string(), run: z.string() });

/** Maximum characters of one block's arguments in a question. The run's page shows all of them. */
const ARGUMENT_CHARS_MAX = 2_000;
/** Time to wait for a decision on a run's page. Clients wait for a call for a minute. */
const DECISION_MS = 45_000;
const POLL_MS = 1_000;

/** Return a run that waits for approvals; null for any other run. */
export function readWaiting(run: Run): WaitingRun | null {
  const parsed = WaitingRun.safeParse(run);
  return parsed.success ? parsed.data : null;
}

/** List the planned changes of waiting blocks, with their exact arguments. */
export function describeChanges({ blocks }: WaitingRun): string[] {
  return blocks
    .filter(({ status }) => status === 'needs_approval')
    .map(({ id, type, would }) => `Block ${id} would run ${type} with ${JSON.stringify(would)}`);
}

/** Create the question about a waiting run; null if the client can't ask its user. */
export function questionAbout(run: WaitingRun, { asks }: PersonDialog): Question | null {
  const url = run.approval_url;
  if (asks === null || (asks === 'page' && url === undefined)) return null;
  const changes = describeChanges(run).map((line) =>
    line.length > ARGUMENT_CHARS_MAX ? `${line.slice(0, ARGUMENT_CHARS_MAX)} …` : line,
  );
  const message = `A workflow wants to change something. ${changes.join('\n')}`;
  const state = JSON.stringify({ workflow: run.workflow_id, run: run.run_id });
  if (asks === 'page' && url !== undefined) return { message, state, ask: { url } };
  const waiting = run.blocks.filter(({ status }) => status === 'needs_approval');
  return { message, state, ask: { choices: Object.fromEntries(waiting.map(({ id }) => [id, `Run block ${id}`])) } };
}

/**
 * Continue a run after asking the user: pass on the decisions of a form, or wait for those on the run's page.
 *
 * @throws AppError of the API
 */
export async function goOn(context: Pick<ToolContext, 'api' | 'signal' | 'person'>): Promise<Run> {
  const { api, signal, person } = context;
  const { state = '', isAccepted = false, decisions = {} } = person.answer ?? {};
  const { workflow, run } = readState(state);
  if (!isAccepted) return api.getWorkflowRun(workflow, run, signal);
  if (person.asks === 'form') return api.approveWorkflowRun(workflow, run, decisions, signal);
  return awaitDecision(api, { workflow, run }, signal);
}

/** @throws AppError `invalid_request` (400) for a state that this server didn't create */
function readState(text: string): z.output<typeof State> {
  try {
    return State.parse(JSON.parse(text));
  } catch {
    throw new AppError({ code: 'invalid_request', status: 400, message: 'The state of the question is not valid.' });
  }
}

async function awaitDecision(
  api: ServiceApi,
  { workflow, run }: z.output<typeof State>,
  signal: AbortSignal,
): Promise<Run> {
  for (const endsAtMs = performance.now() + DECISION_MS; ; ) {
    const current = await api.getWorkflowRun(workflow, run, signal);
    const next = current['continued_by'] as { readonly status?: string } | null | undefined;
    if ((next && next.status !== 'running') || performance.now() > endsAtMs) return current;
    await delay(POLL_MS, undefined, { signal });
  }
}
