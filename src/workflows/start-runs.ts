import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { callerOfActor } from '../access/actor-caller.ts';
import { type Caller, hasScope } from '../access/caller.ts';
import { findDocumentOfAnyBucket } from '../documents/documents.ts';
import { nextRun } from '../memory/schedule.ts';
import { AppError } from '../platform/errors.ts';
import type { RunContext } from './execute-run.ts';
import { readValid, runWorkflow } from './run-workflow.ts';
import { findWorkflow } from './store.ts';
import { EVENT_INPUT } from './trigger-schema.ts';
import {
  claimStart,
  finishStart,
  type HeldStart,
  insertStart,
  lockDueSchedules,
  postponeStart,
  updateNextStart,
} from './trigger-store.ts';

/** Context of triggered runs, with the service's address for links in their messages. */
export interface StartContext extends RunContext {
  readonly origin: string | null;
}

const SCHEDULES_AT_ONCE_MAX = 100;
/** Maximum concurrent runs started by one process. */
const RUNS_AT_ONCE_MAX = 4;
/** Share of one organization, so that its long runs don't delay those of others. */
const RUNS_OF_ORGANIZATION_MAX = 2;
const LOOK_EVERY_MS = 500;
/** Time after which another process takes over from a dead one. A run takes at most five minutes. */
const LEASE_MS = 6 * 60_000;
/** Pause after a temporary failure, and maximum number of tries. */
const RETRY_MS = 30_000;
const TRIES_MAX = 20;

/** Queue a start for each due schedule. Times missed while no process was running count once. */
export async function queueScheduledStarts({ sql }: Pick<RunContext, 'sql'>): Promise<void> {
  await sql.begin(async (tx) => {
    for (const due of await lockDueSchedules(tx, SCHEDULES_AT_ONCE_MAX)) {
      const at = due.dueAt.toISOString();
      await insertStart(tx, { triggerId: due.id, orgId: due.orgId, key: at, event: { scheduled_at: at } });
      await updateNextStart(tx, due, nextRun(due.schedule, new Date()));
    }
  });
}

/**
 * Run the workflows of waiting starts, a few at a time, until none is left. Any number of processes may do this
 * concurrently. Organizations take turns, and one has at most half of the runs of a process.
 */
export async function runStarts(context: StartContext, signal: AbortSignal): Promise<void> {
  const running = new Map<HeldStart, Promise<void>>();
  for (;;) {
    const full = findFull([...running.keys()]);
    const isRoom = !signal.aborted && running.size < RUNS_AT_ONCE_MAX;
    const held = isRoom ? await claimStart(context.sql, full, LEASE_MS) : null;
    if (held !== null) {
      const work = start(context, held, signal)
        .catch((error) => context.logger.error({ err: error, trigger: held.triggerId }, 'a start was not recorded'))
        .finally(() => running.delete(held));
      running.set(held, work);
      continue;
    }
    // The runs of a full organization may have ended during the claim, and its next starts are still waiting.
    if (running.size === 0 && (signal.aborted || full.length === 0)) return;
    // Starts of other organizations may come while these run.
    await Promise.race([...running.values(), delay(LOOK_EVERY_MS)]);
  }
}

/** Return the organizations that have their share of the runs in progress. */
function findFull(running: readonly HeldStart[]): string[] {
  const orgIds = running.map(({ orgId }) => orgId);
  return orgIds.filter((orgId) => orgIds.filter((each) => each === orgId).length >= RUNS_OF_ORGANIZATION_MAX);
}

/** Run the workflow of a start. Retry after temporary errors. */
async function start(context: StartContext, held: HeldStart, signal: AbortSignal): Promise<void> {
  const { sql, logger } = context;
  try {
    const error = await run(context, held, signal);
    await finishStart(sql, held, error);
  } catch (error) {
    if (signal.aborted) return;
    const isPassing = !(error instanceof AppError) || error.retryable;
    logger.warn({ err: error, trigger: held.triggerId }, 'a workflow could not be started');
    if (isPassing && held.tries < TRIES_MAX) return postponeStart(sql, held, RETRY_MS);
    await finishStart(sql, held, error instanceof AppError ? error.message : 'internal error');
  }
}

/**
 * Run the workflow.
 * @returns why there is no run; null if there is one, whatever its outcome, or if there is nothing to do
 */
async function run(context: StartContext, held: HeldStart, signal: AbortSignal): Promise<string | null> {
  const { sql, origin } = context;
  const { orgId, workflowId, mode, triggerId, key, event } = held;
  const caller = await callerOfActor(sql, orgId, held.actor);
  if (caller === null) return `${held.actor} is no longer valid; remove the trigger and create it again`;
  if (!hasScope(caller, 'workflows:run')) return `${held.actor} lacks the scope "workflows:run"`;
  if (held.kind === 'document' && !(await mayRead(context, caller, key))) return null;
  const { published_version: version } = await findWorkflow(sql, orgId, workflowId);
  if (version === null) return 'the workflow is a draft; publish it';
  const { inputs } = await readValid(context, orgId, workflowId, version);
  const given = Object.hasOwn(inputs, EVENT_INPUT) ? { [EVENT_INPUT]: event } : {};
  const fingerprint = createHash('sha256').update(`${triggerId}/${key}`).digest();
  const idempotent = { key: `trigger:${fingerprint.toString('hex')}`, fingerprint };
  const input = { mode, inputs: given as never, idempotent, origin };
  await runWorkflow(context, caller, workflowId, input, signal).catch((error) => {
    // The run already exists: it started before its process died. Never repeat it.
    if (!(error instanceof AppError) || error.code !== 'idempotency_in_progress') throw error;
  });
  return null;
}

/** Return true if the caller may read a document, so that a run doesn't reveal hidden documents. */
async function mayRead({ sql }: RunContext, caller: Caller, documentId: string): Promise<boolean> {
  try {
    await findDocumentOfAnyBucket(sql, caller, documentId);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.status === 404) return false;
    throw error;
  }
}
