import { setTimeout as delay } from 'node:timers/promises';
import { BucketFaults } from '../../documents/bucket-faults.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import type { Logger } from '../../platform/logger.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { traced } from '../../platform/tracing.ts';
import type { ChunkIndex, ChunkSelection, IndexedGeneration } from '../chunk-index.ts';
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

/** Time from one commit to the next, unless many rows wait: small documents that come together go into one commit. */
const COMMIT_GAP_MS = 50;
/** Time that one writer keeps the lock while more appends arrive; then other writers may take it. */
const LOCK_MS_MAX = 2_000;
/** Pause in writing after which the index is settled. */
const SETTLE_MS = 1_000;
/** Time without writes after which an unsettled index counts as abandoned by its writer. */
const ABANDONED_MS = 10_000;

interface BucketQueue {
  appends: Append[];
  writing: Promise<void> | null;
  /** Time of the last commit. */
  committedAtMs: number;
  /** True if the bucket's own table was written since it was settled. */
  isUnsettled: boolean;
  /** Set while the writer waits for a pause after which it settles the index; an append ends the wait. */
  settling: AbortController | null;
}

/**
 * Writer of the index. Writers of one bucket, in this process and in others, are serialised by an advisory lock;
 * generations that arrive while a commit is in progress go into the next one together, so that many small
 * documents cost few commits.
 */
export class IndexWriter {
  readonly #sql: Sql;
  readonly #direct: Sql;
  readonly #chunks: ChunkIndex;
  readonly #logger: Logger;
  readonly #commits: IndexCommits;
  readonly #queues = new Map<string, BucketQueue>();

  /**
   * @param context.direct connection pool for advisory locks; must not go through a transaction pooler
   */
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
   * Append chunks of one generation; resolves when they are committed. No search finds them until PostgreSQL names the
   * generation active. The generation must be registered: one that is no longer known is refused.
   *
   * @param origin null: the rows have no vectors and may be beside those of any space
   * @param options.run id of the run whose new table they go to, in place of the bucket's own
   * @throws AppError `generation_gone` (409); `not_comparable` (409) when the bucket holds vectors of another latent
   *   space, `index_moving` (503) while it is being brought into this one; `reprojection_gone` (409)
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
      queue.settling?.abort();
      queue.appends.push({ ...append, resolve, reject });
      queue.writing ??= this.#drain(bucketId, queue);
    });
  }

  /** Check that `append` would accept vectors of this space. @throws AppError `not_comparable`, `index_moving` */
  checkSpace(bucketId: string, space: string): Promise<void> {
    return checkComparable(this.#sql, bucketId, space);
  }

  /** Remove every chunk of these documents. Their text is to be taken out of the files later (`expungeDue`). */
  async dropDocuments(bucketId: string, documentIds: readonly string[], signal: AbortSignal): Promise<void> {
    const before = () => noteDeletedText(this.#sql, bucketId);
    await this.#delete(bucketId, { documentIds, generations: [] }, signal, { before });
  }

  /**
   * Remove every chunk of these generations, and forget them before the lock is released: a late append finds
   * them gone, and after a crash in between they are still registered, to be dropped again.
   */
  async dropGenerations(bucketId: string, generations: readonly number[], signal: AbortSignal): Promise<void> {
    const after = () => forgetGenerations(this.#sql, generations);
    await this.#delete(bucketId, { documentIds: [], generations }, signal, { after });
  }

  /** Remove rows of these generations only from the table that a run builds. */
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

  /** Merge small fragments and bring the full-text index up to date now. */
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

  /** Merge the files of an index after the next pause in writing: its table was replaced by another one. */
  settleSoon(bucketId: string): void {
    const queue = this.#queue(bucketId);
    queue.isUnsettled = true;
    if (queue.writing === null && queue.settling === null) this.#settleLater(bucketId, queue);
  }

  /**
   * Settle indexes whose writer was killed before it settled them, or which still keep old versions of their rows. An
   * index that fails does not keep the others.
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

  /** Finish all pending writes, and settle what was written. Called after the workers have stopped. */
  async close(): Promise<void> {
    for (const [bucketId, queue] of this.#queues) {
      await queue.writing;
      if (queue.settling === null) continue;
      queue.settling.abort();
      await this.#settleOrWarn(bucketId);
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
        settling: null,
      };
      this.#queues.set(bucketId, queue);
    }
    return queue;
  }

  /** Run `fn` as the only writer of the index of a bucket, as long as the store of the index answers. */
  async #asWriter<T>(bucketId: string, fn: (stillHeld: StillHeld) => Promise<T>): Promise<T> {
    await this.#chunks.requireReach(); // not under the lock
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

  /** @param steps called while the lock is held, before and after the deletion */
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
        // The engine may keep the text of removed rows; `expungeBucket` takes it out of the files.
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
    queue.settling = pause;
    delay(SETTLE_MS, undefined, { signal: pause.signal, ref: false }).then(
      () => {
        if (queue.writing || pause.signal.aborted) return;
        queue.settling = null;
        queue.writing = this.#settleOrWarn(bucketId).then(() => {
          queue.writing = null;
          queue.isUnsettled = false;
          if (queue.appends.length > 0) queue.writing = this.#drain(bucketId, queue);
          else this.#queues.delete(bucketId);
        });
      },
      () => undefined,
    );
  }

  /** Settle an index. One that fails is tried again by `settleAbandoned`. */
  async #settleOrWarn(bucketId: string): Promise<void> {
    await this.#settle(bucketId).catch((error) =>
      this.#logger.warn({ err: error, bucket_id: bucketId }, 'the index was not settled; trying again later'),
    );
  }

  async #settle(bucketId: string): Promise<void> {
    await this.#asWriter(bucketId, async () => {
      const own = await getIndexTable(this.#sql, bucketId);
      if (own === null) return;
      const state = await this.#chunks.settle(own.name);
      await markSettled(this.#sql, bucketId, state);
      this.#chunks.notePublished(state);
    });
  }
}
