import pLimit from 'p-limit';
import type { Embedder } from '../../embedding/embedder.ts';
import type { BuildAhead } from '../../index/chunk-index.ts';
import { findBucketOrigin, findEngine, forgetGenerations, lockIndexSpace } from '../../index/index-store.ts';
import type { IndexWriter } from '../../index/writing/index-writer.ts';
import {
  closeIndexForRun,
  dropReindexRun,
  type ReindexRun,
  resumeReindexRun,
  startReindexRun,
  touchReindexRun,
} from '../../index/writing/reindex-store.ts';
import {
  buildIndexesAhead,
  copyGenerations,
  countWritten,
  nextTableName,
  swapTable,
  type TableContext,
} from '../../index/writing/replace-table.ts';
import { AppError, conflict } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import type { Threads } from '../../platform/threads.ts';
import { VectorMaker } from './make-vectors.ts';
import type { ReindexPlan } from './plan.ts';
import type { Failure } from './read-works.ts';
import * as store from './store.ts';
import { readStoredTokens } from './stored-tokens.ts';
import { type BatchContext, writeBatch } from './write-batch.ts';

/** Time between two progress records within a batch. */
const RECORD_MS = 1_000;
/** Maximum chunks and documents per batch, unless a single document has more. */
const BATCH_CHUNKS = 1_024;
const BATCH_DOCUMENTS = 512;
/**
 * Maximum chunks of all concurrent batches, unless a single document has more. While some are embedded, the next ones
 * are read and earlier ones are written. Each chunk takes up to 12 kB of memory.
 */
const CHUNKS_AT_WORK_MAX = 12_288;
/** Maximum number of batches being read, batches being written, and groups of artifacts being stored. */
const READING_MAX = 2;
const WRITING_MAX = 3;
const STORING_MAX = 4;
/** Number of rounds after which the bucket's jobs have to wait, so that the run catches up with their changes. */
const OPEN_ROUNDS = 3;
const ROUNDS_MAX = 10;

export interface RunContext extends TableContext {
  readonly objects: Objects;
  readonly threads: Threads;
  readonly index: IndexWriter;
  readonly embedder: Embedder;
}

export interface RunOptions {
  readonly signal: AbortSignal;
  /** Id of the run's job; null if a command runs it. */
  readonly jobId?: string | null;
  /** True to skip documents whose stored chunks are unreadable. */
  readonly leaveOutDamaged?: boolean;
  /** Called with the number of finished chunks. */
  readonly onProgress?: (done: number) => void;
  /** Called after each unit of work: a model request or a projection. */
  readonly onWork?: () => void;
  /** Called in the transaction that ends the run. */
  readonly onDone: (tx: Sql, result: RunResult) => Promise<void>;
}

export interface RunResult {
  /** Number of documents of this run. A run that took over another's work counts only its own. */
  readonly documents: number;
  readonly chunks: number;
  /** Number of documents and chunks in the new table. */
  readonly covered: { readonly documents: number; readonly chunks: number };
  readonly leftOut: readonly string[];
  readonly cost: number;
}

/**
 * Run that rebuilds a bucket's index. If it is killed at any point, the next run with the same goal resumes it. Sweeps
 * delete anything that no run resumes.
 */
export class Reindexing {
  readonly #context: RunContext;
  readonly #orgId: string;
  readonly #plan: ReindexPlan;
  readonly #options: RunOptions;
  readonly #vectors: VectorMaker;
  readonly #limits = { reading: pLimit(READING_MAX), writing: pLimit(WRITING_MAX), storing: pLimit(STORING_MAX) };
  /** Live generations whose documents are in the new table. */
  readonly #covered = new Set<number>();
  /** Skipped documents, by their live generation. */
  readonly #leftOut = new Map<number, string>();
  /** Builder of the new table's indexes; null if rows go to the bucket's own table. */
  #indexes: BuildAhead | null = null;
  #failures: Failure[] = [];
  #documents = 0;
  #chunks = 0;
  /** Number of chunks that an earlier run had written. */
  #chunksBefore = 0;
  /** Number of chunks of the documents processed so far. */
  #chunksTaken = 0;
  /** Number of chunks with new vectors, written or not. */
  #chunksMade = 0;
  /** Run whose progress is recorded. */
  #run: ReindexRun | null = null;
  #recordedAtMs = 0;

  constructor(context: RunContext, orgId: string, plan: ReindexPlan, options: RunOptions) {
    this.#context = context;
    this.#orgId = orgId;
    this.#plan = plan;
    this.#options = options;
    this.#vectors = new VectorMaker(plan, context.embedder, orgId, (chunks) => this.#worked(chunks));
  }

  /**
   * @throws AppError `reindex_incomplete` (409) naming what couldn't be done, `index_busy` (409),
   *   `reprojection_gone` (409); those of the provider; the reason of the signal
   */
  async run(): Promise<RunResult> {
    if (this.#plan.mode === 'in_place') await this.#runInPlace();
    if (this.#plan.mode === 'new_table') await this.#runIntoNewTable();
    return this.#result();
  }

  #result(): RunResult {
    const leftOut = [...this.#leftOut.values()];
    const covered = { documents: this.#covered.size, chunks: this.#chunksBefore + this.#chunks };
    return { documents: this.#documents, chunks: this.#chunks, covered, leftOut, cost: this.#vectors.cost };
  }

  async #runInPlace(): Promise<void> {
    const { sql } = this.#context;
    const run = this.#newRun(null);
    await inTransaction(sql, (tx) => startReindexRun(tx, run));
    try {
      for (let round = 0; round < ROUNDS_MAX && (await this.#writeAll(run)) > 0; round++);
      this.#refuseFailures();
      await inTransaction(sql, (tx) => this.#options.onDone(tx, this.#result()));
    } finally {
      await inTransaction(sql, (tx) => dropReindexRun(tx, run.bucketId));
    }
  }

  async #runIntoNewTable(): Promise<void> {
    const { sql } = this.#context;
    const { kind, bucketId, origin } = this.#plan;
    const aim = { kind, bucketId, origin, jobId: this.#options.jobId ?? null };
    const resumed = await resumeReindexRun(sql, aim);
    const id = newId('rpj');
    const engine = this.#plan.engine ?? (await findEngine(sql, bucketId));
    const run = resumed ?? this.#newRun(nextTableName(bucketId, id, engine), id);
    if (resumed) await this.#takeOver(resumed);
    else await inTransaction(sql, (tx) => startReindexRun(tx, run));
    this.#indexes = buildIndexesAhead(this.#context, run, this.#plan.chunks);
    for (let round = 1; round <= ROUNDS_MAX; round++) {
      await this.#writeAll(run).finally(() => this.#indexes?.finish());
      this.#refuseFailures();
      this.#options.signal.throwIfAborted();
      if (await this.#swap(run)) return this.#context.index.settleSoon(run.bucketId);
      if (round === OPEN_ROUNDS) await closeIndexForRun(sql, run.id);
    }
    throw conflict('documents changed faster than this run could process them; run it again', 'index_busy');
  }

  #newRun(tableName: string | null, id = newId('rpj')): ReindexRun {
    const { kind, bucketId, origin } = this.#plan;
    return { id, bucketId, kind, tableName, origin, jobId: this.#options.jobId ?? null };
  }

  /** Keep the complete writes of a killed run, and delete its incomplete ones. */
  async #takeOver(run: ReindexRun): Promise<void> {
    const { sql, objects, index } = this.#context;
    const { signal } = this.#options;
    const rows = await countWritten(this.#context, run);
    const halfMade: number[] = [];
    const replaced = new Set<number>();
    for (const generation of await store.selectRunGenerations(sql, run.id)) {
      const isWhole = rows.get(generation.id) === generation.chunksCount;
      if (isWhole && this.#plan.sourceOf(generation) === 'keep') {
        this.#cover(generation.replaces, generation.chunksCount);
        replaced.add(generation.id);
        continue;
      }
      await objects.delete(generation.artifactKey);
      halfMade.push(generation.id);
    }
    await forgetGenerations(sql, halfMade);
    await index.dropGenerations(run.bucketId, halfMade, signal);
    for await (const { generation, chunksCount } of this.#liveDocuments()) {
      if (rows.get(generation) === chunksCount) this.#cover(generation, chunksCount);
    }
    const isKept = (id: number) => replaced.has(id) || this.#covered.has(id) || halfMade.includes(id);
    const rest = [...rows.keys()].filter((id) => !isKept(id));
    await index.dropGenerationsOfRun(run, rest, signal);
  }

  #cover(generation: number, chunks: number): void {
    this.#covered.add(generation);
    this.#chunksBefore += chunks;
  }

  async *#liveDocuments(): AsyncGenerator<store.LiveDocument> {
    const scope = { orgId: this.#orgId, bucketId: this.#plan.bucketId };
    for (let afterId = ''; ; ) {
      const page = await store.selectLiveDocuments(this.#context.sql, scope, { afterId, limit: BATCH_DOCUMENTS });
      yield* page;
      const last = page.at(-1);
      if (page.length < BATCH_DOCUMENTS || !last) return;
      afterId = last.id;
    }
  }

  /** Write every document that isn't written yet. @returns number of documents that were due */
  async #writeAll(run: ReindexRun): Promise<number> {
    const failure = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, failure.signal]);
    const atWork = new Set<Promise<void>>();
    const chunksAtWorkMax = this.#plan.bounds?.batchChunks ?? CHUNKS_AT_WORK_MAX;
    let chunksAtWork = 0;
    let due = 0;
    try {
      for await (const batch of this.#batches(run, signal)) {
        const chunks = batch.reduce((sum, { chunksCount }) => sum + chunksCount, 0);
        while (atWork.size > 0 && chunksAtWork + chunks > chunksAtWorkMax) await Promise.race(atWork);
        signal.throwIfAborted();
        due += batch.length;
        chunksAtWork += chunks;
        const written = this.#write(run, batch, signal)
          .catch((error: unknown) => failure.abort(error))
          .then(() => {
            chunksAtWork -= chunks;
            atWork.delete(written);
          });
        atWork.add(written);
      }
    } catch (error) {
      failure.abort(error);
    }
    // Wait until all have stopped before reporting a failure.
    await Promise.all(atWork);
    signal.throwIfAborted();
    return due;
  }

  async *#batches(run: ReindexRun, signal: AbortSignal): AsyncGenerator<store.LiveDocument[]> {
    const chunksMax = this.#plan.bounds?.batchChunks ?? BATCH_CHUNKS;
    let batch: store.LiveDocument[] = [];
    let chunks = 0;
    const atMost = this.#plan.bounds?.chunks ?? Number.POSITIVE_INFINITY;
    for await (const document of this.#liveDocuments()) {
      signal.throwIfAborted();
      if (!this.#isDue(run, document)) continue;
      if (this.#chunksTaken >= atMost) break;
      this.#chunksTaken += document.chunksCount;
      const isFull = chunks + document.chunksCount > chunksMax || batch.length === BATCH_DOCUMENTS;
      if (isFull && batch.length > 0) {
        yield batch;
        batch = [];
        chunks = 0;
      }
      batch.push(document);
      chunks += document.chunksCount;
    }
    if (batch.length > 0) yield batch;
  }

  #isDue({ tableName }: ReindexRun, document: store.LiveDocument): boolean {
    if (this.#covered.has(document.generation) || this.#leftOut.has(document.generation)) return false;
    if (this.#failures.some((failure) => failure.document.generation === document.generation)) return false;
    const source = this.#plan.sourceOf(document);
    return source !== 'skip' && !(tableName === null && (source === 'keep' || source === 'refuse'));
  }

  async #write(run: ReindexRun, documents: readonly store.LiveDocument[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#run = run;
    await this.#touch(run);
    const { written, failures } = await writeBatch(this.#batchContext(run, signal), documents);
    for (const failure of failures) this.#fail(failure);
    const made = written.map(({ generation }) => generation);
    const changed = run.tableName === null ? new Set(await this.#activate(run, made)) : null;
    for (const { document } of written) {
      if (changed && !changed.has(document.id)) continue;
      this.#covered.add(document.generation);
      this.#documents++;
      this.#chunks += document.chunksCount;
    }
    await this.#touch(run);
    this.#indexes?.written(this.#chunksBefore + this.#chunks);
    this.#options.onProgress?.(this.#chunksBefore + this.#chunks);
  }

  /** Report progress while a slow model is working on a batch. */
  #worked(chunks: number): void {
    this.#chunksMade += chunks;
    this.#options.onWork?.();
    if (this.#run === null || performance.now() < this.#recordedAtMs + RECORD_MS) return;
    // The batch's next write finds out whether the run is gone.
    void this.#touch(this.#run).catch(() => undefined);
  }

  async #touch(run: ReindexRun): Promise<void> {
    const done = this.#chunksBefore + Math.max(this.#chunks, this.#chunksMade);
    const total = Math.max(done, this.#plan.chunks);
    this.#recordedAtMs = performance.now();
    if (!(await touchReindexRun(this.#context.sql, run.id, { done, total }))) throw gone();
  }

  #activate(run: ReindexRun, generations: readonly number[]): Promise<string[]> {
    return inTransaction(this.#context.sql, async (tx) => {
      if (run.origin === null || !(await lockIndexSpace(tx, run.bucketId, run.origin.space))) throw gone();
      return store.activateRunGenerations(tx, { runId: run.id, bucketId: run.bucketId }, generations);
    });
  }

  /** Replace the bucket's table. @returns false if documents were added or changed meanwhile */
  #swap(run: ReindexRun): Promise<boolean> {
    const scope = { orgId: this.#orgId, bucketId: run.bucketId };
    return swapTable(this.#context, this.#orgId, run, async (tx) => {
      const live = await store.selectLiveIds(tx, scope);
      if (live.some((id) => !this.#covered.has(id) && !this.#leftOut.has(id))) return false;
      // Jobs in progress have written to the current table, and will write the rest to the new one.
      const held = await findBucketOrigin(tx, run.bucketId);
      if (held === null || run.origin === null || held.space === run.origin.space) {
        await copyGenerations(this.#context, run, await store.selectPendingIds(tx, scope));
      }
      await store.activateRunGenerations(tx, { runId: run.id, bucketId: run.bucketId }, null);
      await this.#options.onDone(tx, this.#result());
      return true;
    });
  }

  #fail(failure: Failure): void {
    const { document, error } = failure;
    const isDamaged = error instanceof AppError && error.code !== 'not_comparable';
    if (this.#options.leaveOutDamaged && isDamaged) this.#leftOut.set(document.generation, document.id);
    else this.#failures.push(failure);
  }

  #refuseFailures(): void {
    const [first] = this.#failures;
    if (!first) return;
    const failures = this.#failures;
    this.#failures = [];
    if (this.#plan.kind === 'rebuild' && first.error instanceof AppError) throw damaged(first);
    const count = failures.length;
    const them = count === 1 ? 'it' : 'them';
    throw new AppError({
      code: 'reproject_incomplete',
      status: 409,
      message: `${count} ${count === 1 ? 'document' : 'documents'} could not be reindexed, ${first.document.id} first (${(first.error as Error).message}); delete ${them} or reprocess, then run it again`,
      details: { documents: failures.slice(0, 100).map(({ document }) => document.id) },
      cause: first.error,
    });
  }

  #batchContext(run: ReindexRun, signal: AbortSignal): BatchContext {
    const { sql, objects, threads, index } = this.#context;
    const { sourceOf } = this.#plan;
    const own = { vectors: this.#vectors, limits: this.#limits, orgId: this.#orgId };
    // A rebuild doesn't rely on the table that it replaces.
    const readTokens = async (documents: readonly store.LiveDocument[]) =>
      this.#plan.kind === 'rebuild' ? new Map() : readStoredTokens(this.#context, run.bucketId, documents);
    return { sql, objects, threads, index, ...own, run, sourceOf, readTokens, signal };
  }
}

function damaged({ document, error }: Failure): AppError {
  return new AppError({
    code: 'artifact_corrupt',
    status: 409,
    message:
      `the stored chunks of ${document.id} are damaged or gone; reprocess the document, ` +
      'or rebuild with --leave-out-damaged',
    details: { document_id: document.id },
    cause: error,
  });
}

function gone(): AppError {
  return conflict('this run was abandoned, or its bucket was deleted; start it again', 'reprojection_gone');
}
