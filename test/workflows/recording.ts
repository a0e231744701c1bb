import type { Caller } from '../../src/access/caller.ts';
import {
  type BlockContext,
  type BlockOperations,
  type BlockTypes,
  blockTypes,
} from '../../src/workflows/block-types.ts';
import { type Outcome, type RunOptions, runBlocks } from '../../src/workflows/run-blocks.ts';
import type { Block, BlockResult, Definition, RunMode } from '../../src/workflows/schema.ts';
import { validateDefinition } from '../../src/workflows/validate-definition.ts';

/** Call of an operation, as it was recorded. */
export interface Call {
  readonly operation: string;
  readonly args: unknown;
}

/** Provider of all operations that records its calls and does nothing else. */
export interface Recorder {
  readonly calls: Call[];
  readonly operations: BlockOperations;
}

type Answer = (context: BlockContext, args: unknown) => Promise<unknown> | unknown;

const ANSWERS: Readonly<Record<string, Answer>> = {
  search: () => ({ object: 'list', bucket_id: 'bkt_1', model: null, results: [], usage: { tokens: 1 }, warnings: [] }),
  embed: () => ({ model: 'm', embeddings: [[1, 0]] }),
  upload: () => ({ id: 'doc_1', job_id: 'job_1' }),
  updateMetadata: (_context, args) => ({ ...emptyEdit, metadata: (args as { metadata: object }).metadata }),
  sendNotification: () => ({ status: 'sent', result: { message_id: 'm-1', sent_at: 1 } }),
};
const emptyEdit = {
  ...{ id: 'doc_1', bucket_id: 'bkt_1', collection_id: null, reindex_queued: false, reindex_job_id: null },
  ...{ indexed_vectors_deleted: 0, warnings: [] },
};

/** @param answers operations that answer in another way than usual */
export function openRecorder(answers: Readonly<Record<string, Answer>> = {}): Recorder {
  const calls: Call[] = [];
  const all = { ...ANSWERS, ...answers };
  const record =
    (operation: string) =>
    async (context: BlockContext, args: unknown): Promise<unknown> => {
      calls.push({ operation, args });
      return all[operation]?.(context, args);
    };
  const operations: BlockOperations = {
    search: record('search'),
    answer: record('answer'),
    searchMemory: record('searchMemory'),
    embed: record('embed'),
    upload: record('upload'),
    updateMetadata: record('updateMetadata'),
    sendNotification: record('sendNotification'),
  };
  return { calls, operations };
}

export const TYPES: BlockTypes = blockTypes(openRecorder().operations);

/** Validate a definition and return its faults; none if it is valid. */
export function faultsOf(definition: unknown, types: BlockTypes = TYPES): readonly string[] {
  const checked = validateDefinition(types, definition);
  return 'faults' in checked ? checked.faults : [];
}

/** Return a valid definition with its defaults. */
export function valid(definition: unknown, types: BlockTypes = TYPES): Definition {
  const checked = validateDefinition(types, definition);
  if ('faults' in checked) throw new Error(checked.faults.join('\n'));
  return checked.definition;
}

export interface TestRun {
  readonly mode?: RunMode;
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** Ids of the blocks that are approved. */
  readonly approved?: readonly string[];
  readonly recorder?: Recorder;
  readonly signal?: AbortSignal;
}

export interface TestOutcome extends Outcome {
  /** Results by block. */
  readonly of: Readonly<Record<string, BlockResult>>;
  /** Ids of the blocks for which a decision was asked. */
  readonly asked: readonly string[];
  /** States in the order in which they were recorded, such as `find running`. */
  readonly recorded: readonly string[];
  readonly faults: readonly unknown[];
}

/** Run a definition on recorded operations. */
export async function runTest(definition: unknown, run: TestRun = {}): Promise<TestOutcome> {
  const { mode = 'live', inputs = {}, approved = [], recorder = openRecorder() } = run;
  const types = blockTypes(recorder.operations);
  const asked: string[] = [];
  const recorded: string[] = [];
  const faults: unknown[] = [];
  const options: RunOptions = {
    ...{ mode, inputs: new Map(Object.entries(inputs)) },
    async decide(block: Block) {
      asked.push(block.id);
      return approved.includes(block.id)
        ? { status: 'approved' }
        : { status: 'needs_approval', reason: 'it was not approved' };
    },
    async record(result) {
      recorded.push(`${result.id} ${result.status}`);
    },
    onFault: (error) => faults.push(error),
  };
  const context: BlockContext = {
    ...{ caller: {} as Caller, workflowId: 'wfl_1', origin: null },
    signal: run.signal ?? new AbortController().signal,
  };
  const outcome = await runBlocks(types, valid(definition, types), context, options);
  const of = Object.fromEntries(outcome.blocks.map((block) => [block.id, block]));
  return { ...outcome, of, asked, recorded, faults };
}
