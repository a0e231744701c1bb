import { setTimeout as delay } from 'node:timers/promises';
import { BucketFaults } from '../../documents/bucket-faults.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import type { Logger } from '../../platform/logger.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { traced } from '../../platform/tracing.ts';
import type { ChunkIndex, ChunkSelection, IndexedGeneration, SettleOptions } from '../chunk-index.ts';
import { checkComparable } from '../comparability.ts';
import { forgetGenerations, forgetIndex, getIndexTable } from '../index-store.ts';
import { type Append, fillCommit, takeBatch } from './appends.ts';
import { noteDeletedText } from './deleted-text-store.ts';
import { inPages } from './in-pages.ts';
import { IndexCommits } from './index-commits.ts';
import { findUnsettled, markSettled, publishVersion } from './index-versions-store.ts';
import { KEEP_VERSIONS_MS } from './keep-versions.ts';
import { findReindexRun, type ReindexRun } from './reindex-store.ts';
import { lockedBy, lockLost, type StillHeld, withIndexToItself, withIndexWriterLock } from './writer-lock.ts';

/**
 * Minimum time between two commits, so that small documents share a commit. If the waiting rows fill a commit, the
 * writer doesn't wait.
 */
const COMMIT_GAP_MS = 50;
/** Maximum time for which a writer holds the lock for consecutive commits before it lets other writers in. */
const LOCK_MS_MAX = 2_000;
/**
 * Time without appends after which the writer settles the index. Keep it well below `ABANDONED_MS`, after which any
 * process settles the index. Deletions don't start this pause: `settleAbandoned` settles the index after them.
 */
const SETTLE_PAUSE_MS = 1_000;
/**
 * Maximum time for which an append waits for low-priority settling. Then the settling is aborted and the chunks are
 * written. The bucket's next settling runs at normal priority and is not aborted.
 */
const YIELD_MS = 5_000;
/** Time without writes after which an unsettled index counts as abandoned. */
const ABANDONED_MS = 10_000;

interface BucketQueue {
  appends: Append[];
  writing: Promise<void> | null;
  /** Time of the last commit. */
  committedAtMs: number;
  /** True if chunks were appended to the bucket's own table since its last settling. Deletions don't set it. */
  isUnsettled: boolean;
  /** Controller that aborts the wait before settling; null if not waiting. Every append aborts it. */
  settlePause: AbortController | null;
  /** Controller of low-priority settling in progress, or null. */
  lowSettling: AbortController | null;
  /** True if the last settling was aborted for a waiting append. */
  hasYielded: boolean;
}

/**
 * Writer of the index. An advisory lock admits one writer per bucket at a time, across all processes. Generations that
 * arrive during a commit share the next one, so many small documents need few commits.
 */
export class IndexWriter {
  readonly #sql: Sql;
  readonly #direct: Sql;
  readonly #chunks: ChunkIndex;
  readonly #logger: Logger;
  readonly #commits: IndexCommits;
  readonly #queues = new Map<string, BucketQueue>();
  readonly #closing = new AbortController();

  /** @param context.direct connection pool for advisory locks; must not use a transaction pooler */
  constructor(context: {
    sql: Sql;
    direct: Sql;
    chunks: ChunkIndex;
    logger: Logger;
  }) {
    this.#sql = context.sql;
    this.#direct = context.direct;
    this.#chunks = context.chunks;
    this.#logger = context.logger;
    this.#commits = new IndexCommits(context, this.dropGenerations.bind(this));
  }

  /**
   * Append chunks of one generation. Resolve when they are committed. Searches find them once PostgreSQL names the
   * generation active. Register the generation first: `append` refuses an unknown one.
   *
   * @param origin null if the rows have no vectors; such rows fit into a table of any space
   * @param options.run id of a run, to append to the table that it builds instead of the bucket's own
   * @throws AppError `generation_gone` (409); `not_comparable` (409) if the bucket holds vectors of another latent
   *   space, `index_moving` (503) while a run moves the index into that space; `reprojection_gone` (409)
   */
  append(
    bucketId: string,
    generation: IndexedGeneration,
    origin: VectorOrigin | null,
    { run = null }: { run?: string | null } = {},
  ): Promise<void> {
    if (generation.chunks.length === 0) return Promise.resolve();
    const write = () => this.#append(bucketId, { generation, origin, run });
    return traced('write index', () => ({ 'service.chunks': generation.chunks.length }), write);
  }

  #append(bucketId: string, append: Pick<Append, 'generation' | 'origin' | 'run'>): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.#queue(bucketId);
      queue.settlePause?.abort();
      if (queue.lowSettling !== null && queue.appends.length === 0) yieldLater(queue.lowSettling);
      queue.appends.push({ ...append, resolve, reject });
      queue.writing ??= this.#drain(bucketId, queue);
    });
  }

  /** Check that `append` would accept vectors of this space. @throws AppError `not_comparable`, `index_moving` */
  checkSpace(bucketId: string, space: string): Promise<void> {
    return checkComparable(this.#sql, bucketId, space);
  }

  /** Remove all chunks of these documents. `expungeDue` erases their text from the files later. */
  async dropDocuments(bucketId: string, documentIds: readonly string[], signal: AbortSignal): Promise<void> {
    const before = () => noteDeletedText(this.#sql, bucketId);
    await this.#delete(bucketId, { documentIds, generations: [] }, signal, { before });
  }

  /**
   * Remove all chunks of these generations, then unregister the generations, both under the lock. Later appends are
   * refused. After a crash in between, the generations are still registered, and a sweep drops them again.
   */
  async dropGenerations(bucketId: string, generations: readonly number[], signal: AbortSignal): Promise<void> {
    const after = () => forgetGenerations(this.#sql, generations);
    await this.#delete(bucketId, { documentIds: [], generations }, signal, { after });
  }

  /** Remove rows of these generations from the table that a run builds, but not from the bucket's own table. */
  async dropGenerationsOfRun(
    { bucketId, tableName }: ReindexRun,
    generations: readonly number[],
    signal: AbortSignal,
  ): Promise<void> {
    if (generations.length === 0 || tableName === null) return;
    signal.throwIfAborted();
    await this.#asWriter(bucketId, async (stillHeld) => {
      await this.#chunks.remove(tableName, { documentIds: [], generations }, lockedBy(stillHeld));
    });
  }

  /** Settle the index now. */
  async optimize(bucketId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#settle(bucketId);
  }

  async dropBucket(bucketId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await withIndexToItself(this.#direct, bucketId, async () => {
      await inTransaction(this.#sql, (tx) => forgetIndex(tx, bucketId));
      await this.#chunks.dropAll(bucketId);
    });
  }

  /** Settle the index at the next pause in appends. Call this after replacing a table. */
  settleSoon(bucketId: string): void {
    const queue = this.#queue(bucketId);
    queue.isUnsettled = true;
    if (queue.writing === null && queue.settlePause === null) this.#settleLater(bucketId, queue);
  }

  /**
   * Settle the indexes that no writer settled or that still keep old row versions. If one index fails, continue with
   * the others.
   *
   * @throws the error of the first index that failed, once the others are done
   */
  async settleAbandoned(signal: AbortSignal): Promise<void> {
    const faults = new BucketFaults(this.#logger, signal, 'an abandoned index was not settled; trying again later');
    const unsettled = inPages(
      (after) => findUnsettled(this.#sql, ABANDONED_MS, KEEP_VERSIONS_MS, after),
      (bucketId) => bucketId,
    );
    for await (const bucketId of unsettled) await faults.attempt(bucketId, () => this.#settle(bucketId));
    faults.throwFirst();
  }

  /**
   * Finish all pending writes. Stop the workers first. Settling in progress is aborted. An unsettled index counts as
   * abandoned, and the next process settles it.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const queue of this.#queues.values()) {
      queue.settlePause?.abort();
      await queue.writing;
    }
  }

  #queue(bucketId: string): BucketQueue {
    let queue = this.#queues.get(bucketId);
    if (!queue) {
      queue = {
        appends: [],
        writing: null,
        committedAtMs: Number.NEGATIVE_INFINITY,
        isUnsettled: false,
        settlePause: null,
        lowSettling: null,
        hasYielded: false,
      };
      this.#queues.set(bucketId, queue);
    }
    return queue;
  }

  /** Run `fn` as the only writer of a bucket's index, while the index storage answers. */
  async #asWriter<T>(bucketId: string, fn: (stillHeld: StillHeld) => Promise<T>): Promise<T> {
    await this.#chunks.requireReach(); // before taking the lock
    return withIndexWriterLock(this.#direct, bucketId, (stillHeld) => this.#chunks.whileReached(fn(stillHeld)));
  }

  async #drain(bucketId: string, queue: BucketQueue): Promise<void> {
    while (queue.appends.length > 0) {
      let batch: Append[] = [];
      const gapMs = queue.committedAtMs + COMMIT_GAP_MS - performance.now();
      if (gapMs > 0 && !fillCommit(queue.appends)) await delay(gapMs);
      try {
        await this.#asWriter(bucketId, async (stillHeld) => {
          const untilMs = performance.now() + LOCK_MS_MAX;
          do {
            batch = takeBatch(queue.appends);
            if (batch.some(({ run }) => run === null)) queue.isUnsettled = true;
            await this.#commits.commit(bucketId, batch, stillHeld);
            queue.committedAtMs = performance.now();
          } while (fillCommit(queue.appends) && performance.now() < untilMs);
        });
      } catch (error) {
        for (const append of batch.length > 0 ? batch : queue.appends.splice(0)) append.reject(error);
      }
    }
    queue.writing = null;
    if (queue.isUnsettled) this.#settleLater(bucketId, queue);
    else this.#queues.delete(bucketId);
  }

  /** @param steps functions to run under the lock before and after the deletion */
  async #delete(
    bucketId: string,
    selected: ChunkSelection,
    signal: AbortSignal,
    steps: { before?: () => Promise<void>; after?: () => Promise<void> },
  ): Promise<void> {
    if (selected.documentIds.length + selected.generations.length === 0) return;
    signal.throwIfAborted();
    await this.#asWriter(bucketId, async (stillHeld) => {
      await steps.before?.();
      const next = (await findReindexRun(this.#sql, bucketId))?.tableName;
      if (next) await this.#chunks.remove(next, selected, lockedBy(stillHeld));
      const own = await getIndexTable(this.#sql, bucketId);
      if (own !== null) {
        // The engine may keep the text of removed rows. `expungeBucket` erases it from the files.
        const state = await this.#chunks.remove(own.name, selected, lockedBy(stillHeld));
        await publishVersion(this.#sql, bucketId, { ...state, origin: null, settled: false });
        this.#chunks.notePublished(state);
      }
      if (!(await stillHeld())) throw lockLost();
      await steps.after?.();
    });
  }

  #settleLater(bucketId: string, queue: BucketQueue): void {
    const pause = new AbortController();
    queue.settlePause = pause;
    delay(SETTLE_PAUSE_MS, undefined, { signal: pause.signal, ref: false }).then(
      () => {
        if (queue.writing || pause.signal.aborted) return;
        queue.settlePause = null;
        queue.writing = this.#settleInTurn(bucketId, queue).then((isSettled) => {
          queue.writing = null;
          queue.isUnsettled = !isSettled;
          if (queue.appends.length > 0) queue.writing = this.#drain(bucketId, queue);
          else this.#queues.delete(bucketId);
        });
      },
      () => undefined,
    );
  }

  /**
   * Settle an index and log a failure; `settleAbandoned` retries later. Return false if settling was aborted for a
   * waiting append.
   */
  async #settleInTurn(bucketId: string, queue: BucketQueue): Promise<boolean> {
    const yielding = queue.hasYielded ? null : new AbortController();
    queue.lowSettling = yielding;
    try {
      await this.#settle(bucketId, {
        isUrgent: queue.hasYielded,
        ...(yielding === null ? {} : { signal: yielding.signal }),
      });
    } catch (error) {
      if (yielding?.signal.aborted) {
        queue.hasYielded = true;
        return false;
      }
      if (!this.#closing.signal.aborted) {
        this.#logger.warn({ err: error, bucket_id: bucketId }, 'the index was not settled; trying again later');
      }
    } finally {
      queue.lowSettling = null;
    }
    queue.hasYielded = false;
    return true;
  }

  async #settle(bucketId: string, { signal, isUrgent = false }: SettleOptions = {}): Promise<void> {
    const closing = this.#closing.signal;
    const either = signal === undefined ? closing : AbortSignal.any([signal, closing]);
    await this.#asWriter(bucketId, async () => {
      const own = await getIndexTable(this.#sql, bucketId);
      if (own === null) return;
      const state = await this.#chunks.settle(own.name, { signal: either, isUrgent });
      await markSettled(this.#sql, bucketId, state);
      this.#chunks.notePublished(state);
    });
  }
}

/** Abort settling in a few seconds, if an append still waits for it then. */
function yieldLater(settling: AbortController): void {
  setTimeout(() => settling.abort(), YIELD_MS).unref();
}
