import { FairGate } from '../platform/fair-gate.ts';
import { StatementBatcher } from '../platform/postgres/statement-batcher.ts';
import type { Sql } from '../platform/postgres.ts';
import { finishIngests, type IngestOutcome, type WrittenIngest } from './finish-store.ts';
import { type NewGeneration, registerGenerations } from './generation-store.ts';
import { type ClaimedIngest, findSources, type IngestSource } from './source-store.ts';

/**
 * Statements of ingest jobs. If many small documents are ingested at once, those at the same step share a statement.
 *
 * A shared statement waits for no lock, since the jobs of all organizations would wait with it. A job that it omits
 * gets its own statement, which waits.
 */
export interface IngestStatements {
  /** Read the document of a held job, like `findSources`. */
  findSource(claimed: ClaimedIngest): Promise<IngestSource | null>;
  /** Register a generation before writing its data. @returns false if its document is deleted or being deleted */
  register(generation: NewGeneration): Promise<boolean>;
  /** Finish a job, like `finishIngests`. */
  finish(written: WrittenIngest): Promise<IngestOutcome>;
}

/**
 * Maximum number of statements that may wait for locks. Each holds a connection; most connections stay free for others.
 */
const LOCK_WAITS = { runningMax: 4, runningOfOneMax: 2, waitingOfOneMax: Number.POSITIVE_INFINITY };
/** Signal that never aborts: a wait for a slot ends by itself, since each statement has a time limit. */
const NEVER = new AbortController().signal;

export function ingestStatements(sql: Sql): IngestStatements {
  const gate = new FairGate(LOCK_WAITS);
  const mayWait = <T>(orgId: string, statement: () => Promise<T>) => gate.run(orgId, statement, () => NEVER);
  const sources = new StatementBatcher((claimed: readonly ClaimedIngest[]) => findSources(sql, claimed));
  const registers = new StatementBatcher(async (generations: readonly NewGeneration[]) => {
    const known = await registerGenerations(sql, generations, 'skip');
    return generations.map(({ id }) => known.has(id));
  });
  const finishes = new StatementBatcher((written: readonly WrittenIngest[]) => finishShared(sql, written));
  const finishesOfOne = new BatcherByDocument((written: readonly WrittenIngest[]) => {
    const [{ generation }] = written as readonly [WrittenIngest];
    return mayWait(generation.orgId, () => finishIngests(sql, written, 'wait'));
  });
  return {
    findSource: (claimed) => sources.call(claimed),
    register: async (generation) => {
      if (await registers.call(generation)) return true;
      return mayWait(generation.orgId, async () => (await registerGenerations(sql, [generation], 'wait')).size > 0);
    },
    finish: async (written) => {
      const isReady = await finishes.call(written);
      return isReady ? 'ready' : finishesOfOne.call(written.generation.documentId, written);
    },
  };
}

/**
 * Finish jobs of different documents in one statement. Omit several jobs of the same document: separate statements
 * decide which generation becomes active, even if some jobs are locked.
 * @returns true for each job that is ready
 */
async function finishShared(sql: Sql, written: readonly WrittenIngest[]): Promise<boolean[]> {
  const jobs = new Map<string, number>();
  for (const { generation } of written) jobs.set(generation.documentId, (jobs.get(generation.documentId) ?? 0) + 1);
  const given = written.filter(({ generation }) => jobs.get(generation.documentId) === 1);
  const outcomes = given.length === 0 ? [] : await finishIngests(sql, given, 'skip');
  const ready = new Set(given.filter((_, nth) => outcomes[nth] === 'ready'));
  return written.map((each) => ready.has(each));
}

/** Batcher per document. Calls for the same document share a statement, and none waits for another document. */
class BatcherByDocument<Call, Result> {
  readonly #run: (calls: readonly Call[]) => Promise<readonly Result[]>;
  readonly #batchers = new Map<string, { readonly batcher: StatementBatcher<Call, Result>; calls: number }>();

  constructor(run: (calls: readonly Call[]) => Promise<readonly Result[]>) {
    this.#run = run;
  }

  async call(documentId: string, call: Call): Promise<Result> {
    const entry = this.#batchers.get(documentId) ?? { batcher: new StatementBatcher(this.#run), calls: 0 };
    this.#batchers.set(documentId, entry);
    entry.calls++;
    try {
      return await entry.batcher.call(call);
    } finally {
      if (--entry.calls === 0) this.#batchers.delete(documentId);
    }
  }
}
