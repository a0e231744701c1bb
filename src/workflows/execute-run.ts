import { isDeepStrictEqual } from 'node:util';
import { recordAudit } from '../access/audit.ts';
import { type Caller, hasScope } from '../access/caller.ts';
import type { SendRequest } from '../channels/schema.ts';
import { startDeadline } from '../platform/deadline.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import type { Logger } from '../platform/logger.ts';
import { mapPostgresError, type Sql } from '../platform/postgres.ts';
import type { BlockTypes } from './block-types.ts';
import { isLeftOut, toKept } from './kept-values.ts';
import { type Decision, type Outcome, runBlocks } from './run-blocks.ts';
import * as runStore from './run-store.ts';
import type { Block, BlockResult, Definition } from './schema.ts';

/** Time limit of a run that asks no questions, since its caller waits for it. */
const RUN_MS_MAX = 300_000;
const HEARTBEAT_MS = 5_000;

export interface RunContext {
  readonly sql: Sql;
  readonly logger: Logger;
  readonly blocks: BlockTypes;
  /** Send a message to a person who may approve a run, at most once per key. Log failures. */
  readonly notify: (caller: Pick<Caller, 'orgId' | 'actor'>, message: SendRequest, key: string) => Promise<void>;
}

/** Decisions on the side effects of a run. */
export interface Decisions {
  readonly approvals?: Readonly<Record<string, boolean>>;
  /** Ask a person about a block without an approval. If given, the run has no time limit. */
  readonly ask?: (block: Block, would: Record<string, unknown>) => Promise<boolean>;
}

export interface Execution extends Decisions {
  readonly inputs: ReadonlyMap<string, unknown>;
  /**
   * Block results of the waiting run that this run continues. An approval is valid only for the arguments that the
   * waiting block showed. False declines a block permanently.
   */
  readonly waited?: ReadonlyMap<string, BlockResult>;
  /** Address of this service for links in results. */
  readonly origin?: string | null;
  readonly signal: AbortSignal | undefined;
}

/** Run the blocks of a recorded run, and always record its end. @throws AppError `run_over` (409) */
export async function executeRun(
  { sql, logger, blocks }: RunContext,
  caller: Caller,
  run: runStore.NewRun,
  definition: Definition,
  execution: Execution,
): Promise<Outcome> {
  const { orgId } = caller;
  const { inputs, origin = null, waited, signal } = execution;
  const deadline = execution.ask === undefined ? startDeadline(RUN_MS_MAX, signal) : null;
  const isOver = deadline?.signal ?? signal ?? new AbortController().signal;
  const heartbeat = setInterval(() => {
    runStore.touchRun(sql, orgId, run.id).catch((err) => logger.debug({ err }, 'a run has missed a heartbeat'));
  }, HEARTBEAT_MS);
  try {
    const about = { caller, workflowId: run.workflowId, origin, signal: isOver };
    const ended = await runBlocks(blocks, definition, about, {
      mode: run.mode,
      inputs,
      ...(waited === undefined ? {} : { settled: settledOf(waited) }),
      decide: (block, would) => decide(sql, caller, run, execution, block, would),
      async record(result, position) {
        if (!(await runStore.recordBlock(sql, orgId, run.id, position, result))) throw runOver();
        // PostgreSQL answers many runs at once, and each then handles up to a megabyte of values.
        await yieldToEventLoop();
      },
      onFault: (err, block) => logger.error({ err, run: run.id, block: block.id }, 'a block of a workflow failed'),
    });
    const outcome = isOver.aborted && ended.status === 'failed' ? { ...ended, error: overReason(signal) } : ended;
    if (!(await runStore.finishRun(sql, orgId, run.id, outcome))) throw runOver();
    await yieldToEventLoop();
    signal?.throwIfAborted();
    return outcome;
  } catch (error) {
    const end = { status: 'failed', output: null, error: endReason(error, isOver, signal) } as const;
    await runStore.finishRun(sql, orgId, run.id, end).catch((err) => logger.warn({ err }, 'a run could not be ended'));
    throw error;
  } finally {
    deadline?.clear();
    clearInterval(heartbeat);
  }
}

/** Select the results to keep: those of completed blocks, if still in the history, and of declined ones. */
function settledOf(results: ReadonlyMap<string, BlockResult>): Map<string, BlockResult> {
  return new Map(
    [...results].filter(([, { status, output, would }]) => {
      if (status === 'skipped') return would !== undefined;
      return status === 'completed' && !isLeftOut(output);
    }),
  );
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

/** Decide on a side effect, and record the decision in the audit log before the effect. */
async function decide(
  sql: Sql,
  caller: Caller,
  run: runStore.NewRun,
  { approvals = {}, ask, waited }: Execution,
  block: Block,
  would: Record<string, unknown>,
): Promise<Decision> {
  const waits = (reason: string): Decision => ({ status: 'needs_approval', reason });
  if (!hasScope(caller, 'workflows:approve')) return waits('approvals need the scope "workflows:approve"');
  const given = Object.hasOwn(approvals, block.id) ? approvals[block.id] : undefined;
  const earlier = waited?.get(block.id);
  if (given !== undefined && waited !== undefined && !isDeepStrictEqual(toKept(would).value, earlier?.would)) {
    return waits('its arguments have changed since they were shown');
  }
  if (given === false && waited !== undefined) {
    await recordDecision(sql, caller, run, block, 'workflow.decline');
    return { status: 'skipped', reason: `${caller.actor} declined it` };
  }
  if (given !== true && ask === undefined) return waits(`approvals.${block.id} is not true`);
  if (given !== true && !(await ask?.(block, would))) return waits('it was not approved');
  await recordDecision(sql, caller, run, block, 'workflow.approve');
  return { status: 'approved' };
}

async function recordDecision(
  sql: Sql,
  { orgId, actor }: Caller,
  run: runStore.NewRun,
  block: Block,
  action: 'workflow.approve' | 'workflow.decline',
): Promise<void> {
  await sql.begin(async (tx) => {
    // The person may have taken a long time to answer.
    if (!(await runStore.touchRun(tx, orgId, run.id))) throw runOver();
    const detail = { run_id: run.id, block_id: block.id, type: block.type };
    await recordAudit(tx, { orgId, actor, action, target: run.workflowId, detail });
  });
}

function runOver(): AppError {
  const message = 'the run has been ended: it missed its heartbeats, or its workflow was deleted';
  return conflict(message, 'run_over');
}
