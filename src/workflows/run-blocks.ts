import type { z } from 'zod';
import { startDeadline } from '../platform/deadline.ts';
import { AppError } from '../platform/errors.ts';
import { mapPostgresError } from '../platform/postgres.ts';
import { unlessAborted } from '../platform/unless-aborted.ts';
import { mostTelling, PARSE_OPTIONS } from '../platform/zod-faults.ts';
import type { BlockContext, BlockType, BlockTypes } from './block-types.ts';
import { isTrue } from './condition.ts';
import { dependenciesOf, orderBlocks } from './order-blocks.ts';
import { placeIn, referencesIn, resolve, toCondition, type Values } from './references.ts';
import type { Block, BlockResult, Definition, RunMode, RunStatus } from './schema.ts';

/** Maximum total characters of a run's outputs, as JSON. */
const OUTPUT_CHARS_MAX = 1024 * 1024;

export interface RunOptions {
  readonly mode: RunMode;
  readonly inputs: ReadonlyMap<string, unknown>;
  /** Results of blocks that an earlier run completed or that were declined. They don't run again. */
  readonly settled?: ReadonlyMap<string, BlockResult>;
  /** Decide on the side effect of a block in a live run. `would` contains its arguments. */
  readonly decide: (block: Block, would: Record<string, unknown>) => Promise<Decision>;
  /** Record the state of a block before and after it runs. Throw if the run must stop. */
  readonly record: (result: BlockResult, position: number) => Promise<void>;
  /** Report an internal error, whose details the caller doesn't see. */
  readonly onFault: (error: unknown, block: Block) => void;
}

/** Decision on a side effect. `reason` tells the caller of the run why the block does not run. */
export type Decision =
  | { readonly status: 'approved' }
  | { readonly status: 'needs_approval' | 'skipped'; readonly reason: string };

export interface Outcome {
  readonly status: Exclude<RunStatus, 'running'>;
  readonly blocks: readonly BlockResult[];
  readonly output: unknown;
  readonly error: string | null;
}

/** State of a run: inputs, outputs of the completed blocks, and results of all blocks so far. */
interface RunState extends Values {
  readonly outputs: Map<string, unknown>;
  readonly results: Map<string, BlockResult>;
  charsLeft: number;
}

/**
 * Run the blocks of a valid definition in sequence, in the order of `orderBlocks`. A block with a side effect runs only
 * in a live run and with an approval. The first failure ends the run and skips the other blocks. Aborting the signal
 * fails the running block.
 *
 * @throws what `decide` and `record` throw
 */
export async function runBlocks(
  types: BlockTypes,
  definition: Definition,
  context: BlockContext,
  options: RunOptions,
): Promise<Outcome> {
  const { order } = orderBlocks(definition.blocks);
  const state: RunState = {
    inputs: options.inputs,
    outputs: new Map(),
    results: new Map(),
    charsLeft: OUTPUT_CHARS_MAX,
  };
  let failed: BlockResult | null = null;
  for (const [position, block] of order.entries()) {
    const type = types.get(block.type) as BlockType;
    const earlier = options.settled?.get(block.id);
    let result: BlockResult;
    if (earlier !== undefined) result = earlier;
    else if (failed !== null) result = notRun(block, 'skipped', `block "${failed.id}" failed`);
    else result = bounded(await runBlock({ block, type, position, state, context, options }), state);
    state.results.set(block.id, result);
    if (result.status === 'completed') state.outputs.set(block.id, result.output);
    if (result.status === 'failed') failed = result;
    await options.record(result, position);
  }
  const blocks = [...state.results.values()];
  if (failed !== null) return { status: 'failed', blocks, output: null, error: `${failed.id}: ${failed.error}` };
  const status = blocks.some((block) => block.status === 'needs_approval') ? 'needs_approval' : 'completed';
  return { ...finalOutput(definition, state, status), blocks };
}

function finalOutput(definition: Definition, state: RunState, status: Outcome['status']): Omit<Outcome, 'blocks'> {
  if (definition.output === undefined) return { status, output: null, error: null };
  try {
    return { status, output: resolve(definition.output, state), error: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { status: 'failed', output: null, error: `output: ${error.message}` };
  }
}

function notRun(block: Block, status: BlockResult['status'], error: string | null): BlockResult {
  return { id: block.id, type: block.type, status, output: null, error, duration_ms: 0 };
}

/** Fail a block whose output exceeds the remaining size of the run. */
function bounded(result: BlockResult, state: RunState): BlockResult {
  const chars = JSON.stringify([result.output, result.would ?? null]).length;
  state.charsLeft -= chars;
  if (state.charsLeft >= 0) return result;
  const { would: _, ...rest } = result;
  const error = `the outputs of this run have more than ${OUTPUT_CHARS_MAX} characters; the output of this block was left out`;
  return { ...rest, status: 'failed', output: null, error };
}

/** Block with everything needed to run it. */
interface BlockRun {
  readonly block: Block;
  readonly type: BlockType;
  readonly position: number;
  readonly state: RunState;
  readonly context: BlockContext;
  readonly options: RunOptions;
}

async function runBlock(run: BlockRun): Promise<BlockResult> {
  const { block, type, state, context, options } = run;
  const reason = skipReason(run);
  if (reason !== null) return notRun(block, 'skipped', reason);
  if (context.signal.aborted) return notRun(block, 'failed', 'the run ended before this block');
  let given: Record<string, unknown>;
  try {
    if (block.if !== undefined && !isTrue(resolve(toCondition(block.if), state))) {
      return notRun(block, 'skipped', 'its condition is not true');
    }
    given = resolve(block.with, state) as Record<string, unknown>;
  } catch (error) {
    return notRun(block, 'failed', describe(run, error));
  }
  if (type.hasSideEffect && options.mode !== 'live' && isIncomplete(run)) {
    return { ...notRun(block, 'simulated', null), would: given };
  }
  const parsed = type.args.safeParse(withoutMissing(given), PARSE_OPTIONS);
  if (!parsed.success) return notRun(block, 'failed', describeArguments(parsed.error));
  if (!type.hasSideEffect) return execute(run, parsed.data);
  const would = parsed.data as Record<string, unknown>;
  if (options.mode !== 'live') return { ...notRun(block, 'simulated', null), would };
  const decision = await options.decide(block, would);
  if (decision.status === 'approved') return execute(run, would);
  return { ...notRun(block, decision.status, decision.reason), would };
}

/**
 * Return the reason why a block can't run, or null. If a block is skipped, so are the blocks that use its output. A
 * block that waits for an approval stops everything that depends on it. In a run without side effects, blocks with a
 * side effect continue without the outputs of others, to show all planned changes.
 */
function skipReason({ block, type, state, options }: BlockRun): string | null {
  const used = usedBy(block);
  for (const id of dependenciesOf(block)) {
    const status = state.results.get(id)?.status;
    if (status === 'needs_approval') return `block "${id}" needs approval`;
    if (!used.has(id)) continue;
    if (status === 'skipped') return `block "${id}" was skipped`;
    if (status === 'simulated' && !(type.hasSideEffect && options.mode !== 'live')) {
      return `block "${id}" was only simulated`;
    }
  }
  return null;
}

/** Return true if the arguments refer to a simulated output. */
function isIncomplete({ block, state }: BlockRun): boolean {
  return [...usedBy(block)].some((id) => state.results.get(id)?.status === 'simulated');
}

/** Return the ids of the blocks whose outputs a block's arguments reference. */
function usedBy(block: Block): Set<string> {
  return new Set(referencesIn(block.with).flatMap(({ kind, name }) => (kind === 'block' ? [name] : [])));
}

async function execute(run: BlockRun, args: unknown): Promise<BlockResult> {
  const { block, type, context, position, options } = run;
  await options.record(notRun(block, 'running', null), position);
  const beganMs = performance.now();
  const result = (status: BlockResult['status'], output: unknown, error: string | null): BlockResult => {
    const durationMs = Math.round((performance.now() - beganMs) * 10) / 10;
    return { ...notRun(block, status, error), output: output ?? null, duration_ms: durationMs };
  };
  try {
    const limitMs = block.timeout_seconds * 1000;
    return result('completed', await withinTime(limitMs, context, (own) => type.run(own, args)), null);
  } catch (error) {
    const doubt = type.hasSideEffect && isUncertain(error, context.signal) ? `; ${UNCERTAIN}` : '';
    return result('failed', null, describe(run, error) + doubt);
  }
}

function describe({ block, context, options }: BlockRun, error: unknown): string {
  if (context.signal.aborted) return 'the run was ended while this block ran';
  const known = mapPostgresError(error);
  if (known instanceof AppError) return known.message;
  options.onFault(error, block);
  return 'internal error';
}

function describeArguments({ issues }: z.ZodError): string {
  const [first] = issues.map(mostTelling);
  return `${placeIn('with', first?.path ?? [])}: ${first?.message}`;
}

export const UNCERTAIN = 'its effect may or may not have happened';

/** Return true unless an error says that nothing happened, or itself describes what may have happened. */
function isUncertain(error: unknown, signal: AbortSignal): boolean {
  if (signal.aborted || !(error instanceof AppError)) return true;
  return error.status >= 500 && error.code !== 'notification_not_accepted';
}

/** Omit arguments without a value, since an optional argument may reference a missing value. */
function withoutMissing(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => value !== null || name === 'left'));
}

/** Run work with a deadline. Work that ignores its signal may outlast it. @throws AppError `block_timeout` (504) */
async function withinTime<T>(
  limitMs: number,
  context: BlockContext,
  work: (context: BlockContext) => Promise<T>,
): Promise<T> {
  const deadline = startDeadline(limitMs, context.signal, () => timedOut(limitMs));
  const { signal } = deadline;
  try {
    return await unlessAborted(work({ ...context, signal }), signal);
  } catch (error) {
    throw signal.aborted && !context.signal.aborted ? signal.reason : error;
  } finally {
    deadline.clear();
  }
}

function timedOut(limitMs: number): AppError {
  const message = `the block did not finish within ${limitMs / 1000} seconds`;
  return new AppError({ code: 'block_timeout', status: 504, message });
}
