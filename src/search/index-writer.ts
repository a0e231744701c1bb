import { setTimeout as delay } from 'node:timers/promises';
import type { Table } from '@lancedb/lancedb';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { type Sql, withAdvisoryLock } from '../platform/postgres.ts';
import { type IndexedGeneration, toArrowTable } from './chunk-table.ts';
import { getIndexTable, publishVersion } from './index-store.ts';
import { type LanceTables, TOKEN_INDEX_NAME } from './lance.ts';

/** Rows written in one commit, at most. */
const COMMIT_ROWS_MAX = 4_096;
/** Above these the table is compacted between commits, not only when writing pauses. */
const FRAGMENTS_MAX = 64;
const UNINDEXED_ROWS_MAX = 4_096;
/** How long one writer keeps the bucket while more keeps coming; then others get their turn. */
const LOCK_MS_MAX = 2_000;
/** A pause in writing after which the rest is compacted, so that scores and speed settle. */
const SETTLE_MS = 1_000;
/** Old versions of a table are kept for readers that are still on them. */
const KEEP_VERSIONS_MS = 10 * 60_000;

interface Append {
  readonly generation: IndexedGeneration;
  readonly space: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface BucketQueue {
  appends: Append[];
  writing: Promise<void> | null;
  settle: AbortController | null;
}

/**
 * Writes to the index. Writers of one bucket, in this process and in others, are serialised by an advisory lock;
 * generations that arrive while a commit is under way go into the next one together, so that many small
 * documents cost few commits.
 */
export class IndexWriter {
  readonly #sql: Sql;
  readonly #direct: Sql;
  readonly #tables: LanceTables;
  readonly #logger: Logger;
  readonly #queues = new Map<string, BucketQueue>();

  /** @param direct connection pool for advisory locks; must not go through a transaction pooler */
  constructor(context: { sql: Sql; direct: Sql; tables: LanceTables; logger: Logger }) {
    this.#sql = context.sql;
    this.#direct = context.direct;
    this.#tables = context.tables;
    this.#logger = context.logger;
  }

  /**
   * Resolves when the generation is committed. It is found by nobody until PostgreSQL names it active.
   * @throws AppError `not_comparable` (409) when the bucket holds vectors of another latent space
   */
  append(bucketId: string, generation: IndexedGeneration, space: string): Promise<void> {
    if (generation.chunks.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const queue = this.#queue(bucketId);
      queue.settle?.abort();
      queue.appends.push({ generation, space, resolve, reject });
      queue.writing ??= this.#drain(bucketId, queue);
    });
  }

  /** Remove every chunk of these documents. */
  async dropDocuments(bucketId: string, documentIds: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#deleteWhere(bucketId, `document_id IN (${documentIds.map(quote).join(', ')})`, signal);
  }

  /** Remove every chunk of these generations. */
  async dropGenerations(bucketId: string, generations: readonly number[], signal: AbortSignal): Promise<void> {
    await this.#deleteWhere(bucketId, `generation IN (${generations.map(Number).join(', ')})`, signal);
  }

  async dropBucket(bucketId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await withAdvisoryLock(this.#direct, lockKey(bucketId), () => this.#tables.drop(bucketId));
  }

  /** Finish what was started; called after the workers have stopped. */
  async close(): Promise<void> {
    for (const queue of this.#queues.values()) {
      queue.settle?.abort();
      await queue.writing;
    }
  }

  #queue(bucketId: string): BucketQueue {
    let queue = this.#queues.get(bucketId);
    if (!queue) {
      queue = { appends: [], writing: null, settle: null };
      this.#queues.set(bucketId, queue);
    }
    return queue;
  }

  async #drain(bucketId: string, queue: BucketQueue): Promise<void> {
    while (queue.appends.length > 0) {
      let batch: Append[] = [];
      try {
        await withAdvisoryLock(this.#direct, lockKey(bucketId), async (stillHeld) => {
          const untilMs = performance.now() + LOCK_MS_MAX;
          while (queue.appends.length > 0 && performance.now() < untilMs) {
            batch = takeBatch(queue.appends);
            await this.#commit(bucketId, batch, stillHeld);
          }
        });
      } catch (error) {
        for (const append of batch.length > 0 ? batch : queue.appends.splice(0)) append.reject(error);
      }
    }
    queue.writing = null;
    this.#settleLater(bucketId, queue);
  }

  /** One commit of the lock's holder; resolves what it wrote, rejects what cannot be compared. */
  async #commit(bucketId: string, batch: Append[], stillHeld: () => Promise<boolean>): Promise<void> {
    let space = (await getIndexTable(this.#sql, bucketId))?.space ?? null;
    const comparable: Append[] = [];
    for (const append of batch) {
      space ??= append.space;
      if (append.space === space) comparable.push(append);
      else append.reject(notComparable(space, append.space));
    }
    if (comparable.length === 0) return;
    const table = await this.#tables.write(bucketId);
    const rows = toArrowTable(comparable.map((append) => append.generation));
    if (!(await stillHeld())) throw lockLost();
    await table.add(rows as never);
    if (await isFragmented(table)) await compact(table);
    await publishVersion(this.#sql, bucketId, await table.version(), space);
    for (const append of comparable) append.resolve();
  }

  async #deleteWhere(bucketId: string, predicate: string, signal: AbortSignal): Promise<void> {
    if (predicate.endsWith('()')) return;
    signal.throwIfAborted();
    await withAdvisoryLock(this.#direct, lockKey(bucketId), async (stillHeld) => {
      if ((await getIndexTable(this.#sql, bucketId)) === null) return;
      const table = await this.#tables.write(bucketId);
      if (!(await stillHeld())) throw lockLost();
      await table.delete(predicate);
      await publishVersion(this.#sql, bucketId, await table.version(), null);
    });
  }

  #settleLater(bucketId: string, queue: BucketQueue): void {
    const settle = new AbortController();
    queue.settle = settle;
    delay(SETTLE_MS, undefined, { signal: settle.signal, ref: false }).then(
      () => {
        if (queue.writing || settle.signal.aborted) return;
        queue.writing = this.#optimize(bucketId)
          .catch((error) => this.#logger.warn({ err: error, bucket_id: bucketId }, 'index was not compacted'))
          .then(() => {
            queue.writing = null;
            if (queue.appends.length > 0) queue.writing = this.#drain(bucketId, queue);
            else this.#queues.delete(bucketId);
          });
      },
      () => undefined,
    );
  }

  async #optimize(bucketId: string): Promise<void> {
    await withAdvisoryLock(this.#direct, lockKey(bucketId), async () => {
      const table = await this.#tables.write(bucketId);
      const stats = await table.indexStats(TOKEN_INDEX_NAME);
      if ((stats?.numUnindexedRows ?? 0) === 0) return;
      await compact(table);
      await publishVersion(this.#sql, bucketId, await table.version(), null);
    });
  }
}

function takeBatch(appends: Append[]): Append[] {
  let rows = 0;
  let count = 0;
  for (const append of appends) {
    rows += append.generation.chunks.length;
    if (count > 0 && rows > COMMIT_ROWS_MAX) break;
    count++;
  }
  return appends.splice(0, count);
}

async function isFragmented(table: Table): Promise<boolean> {
  const stats = await table.stats();
  if (stats.fragmentStats.numFragments > FRAGMENTS_MAX) return true;
  const index = await table.indexStats(TOKEN_INDEX_NAME);
  return (index?.numUnindexedRows ?? 0) > UNINDEXED_ROWS_MAX;
}

async function compact(table: Table): Promise<void> {
  await table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_VERSIONS_MS) });
}

function lockKey(bucketId: string): string {
  return `index/${bucketId}`;
}

/** Ids are made by us from a fixed alphabet; the check keeps a predicate from ever carrying anything else. */
function quote(id: string): string {
  if (!/^[a-z0-9_]+$/.test(id)) throw new Error('not an id');
  return `'${id}'`;
}

function notComparable(held: string, given: string): AppError {
  return new AppError({
    code: 'not_comparable',
    status: 409,
    message: `the bucket holds vectors of the space ${held}; vectors of ${given} cannot be searched beside them`,
  });
}

function lockLost(): AppError {
  return new AppError({ code: 'index_lock_lost', status: 503, message: 'lost the lock on the index', retryable: true });
}
