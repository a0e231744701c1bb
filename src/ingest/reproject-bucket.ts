import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { inTransaction, type Sql, withAdvisoryLock } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { forgetGenerations, lockIndexSpace } from '../search/index-store.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { countWritten, nextTableName, swapTable, type TableContext } from '../search/replace-table.ts';
import { dropReprojection, findResumable, startReprojection, touchReprojection } from '../search/reprojection-store.ts';
import { type BatchContext, type Failure, writeBatch } from './reproject-batch.ts';
import { type PlanContext, planReprojection, type ReprojectPlan, type ReprojectRequest } from './reproject-plan.ts';
import * as store from './reproject-store.ts';

/**
 * Maximum of chunks and documents in one batch, two of which are in memory at once. A larger document is a batch by
 * itself.
 */
const BATCH_CHUNKS = 2_000;
const BATCH_DOCUMENTS = 256;
/** Number of concurrent batches: while one is written, the next one is computed. */
const CONCURRENT_BATCHES = 2;
/** Maximum of rounds. Documents that are added or changed during a round make another one necessary. */
const ROUNDS_MAX = 10;

export interface ReprojectContext extends PlanContext, TableContext {
  readonly objects: Objects;
  readonly threads: Threads;
  readonly index: IndexWriter;
}

export interface ReprojectReport {
  readonly bucket_id: string;
  readonly models: readonly string[];
  readonly space: string;
  readonly map_versions: readonly number[];
  readonly mode: ReprojectPlan['mode'];
  /** Documents that this run processed, without those of a run that it resumed. */
  readonly documents: number;
  readonly chunks: number;
}

/**
 * Reproject the vectors of a bucket from the native vectors that are stored with its chunks; no provider is called. If
 * the latent space stays the same, documents get their new vectors a batch at a time. If it changes, a second table is
 * built and replaces the first one in one transaction; until then searches find the old vectors. The next run resumes
 * one that was killed, and sweeps remove its unused data.
 *
 * @param options.onProgress called with the number of chunks done and the total
 * @throws AppError those of `planReprojection`; `reproject_incomplete` (409) naming the documents that failed;
 *   `reprojection_gone` (409); the signal's reason
 */
export async function reprojectBucket(
  context: ReprojectContext,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  request: ReprojectRequest,
  options: { signal: AbortSignal; onProgress?: (done: number, total: number) => void },
): Promise<ReprojectReport> {
  const { bucketId } = await planReprojection(context, caller, request);
  const run = async (_stillHeld: unknown, lost: AbortSignal) => {
    // The plan is made again, since another run may have held the lock until now.
    const plan = await planReprojection(context, caller, request);
    const signal = AbortSignal.any([options.signal, lost]);
    const done = await new Run(context, caller, plan, { ...options, signal }).run();
    return {
      ...{ bucket_id: bucketId, models: plan.targets.map(({ id }) => id), space: plan.space, mode: plan.mode },
      ...{ map_versions: plan.targets.map(({ mapVersion }) => mapVersion), ...done },
    };
  };
  return withAdvisoryLock(context.direct, `reproject/${bucketId}`, run, { signal: options.signal });
}

class Run {
  readonly #context: ReprojectContext;
  readonly #caller: Pick<Caller, 'orgId' | 'actor'>;
  readonly #plan: ReprojectPlan;
  readonly #signal: AbortSignal;
  readonly #onProgress: (done: number, total: number) => void;
  readonly #failures: Failure[] = [];
  #documents = 0;
  #chunks = 0;
  /** Chunks that an earlier run completed. */
  #resumedChunks = 0;

  constructor(
    context: ReprojectContext,
    caller: Pick<Caller, 'orgId' | 'actor'>,
    plan: ReprojectPlan,
    options: { signal: AbortSignal; onProgress?: (done: number, total: number) => void },
  ) {
    this.#context = context;
    this.#caller = caller;
    this.#plan = plan;
    this.#signal = options.signal;
    this.#onProgress = options.onProgress ?? (() => undefined);
  }

  async run(): Promise<{ documents: number; chunks: number }> {
    const { mode } = this.#plan;
    if (mode === 'in_place') await this.#inPlace();
    if (mode === 'new_table') await this.#intoNewTable();
    return { documents: this.#documents, chunks: this.#chunks };
  }

  async #inPlace(): Promise<void> {
    const { sql } = this.#context;
    const run = { id: newId('rpj'), bucketId: this.#plan.bucketId, tableName: null, space: this.#plan.space };
    await inTransaction(sql, (tx) => startReprojection(tx, run));
    try {
      const scope = this.#scope(run.id, false);
      for (let round = 0; round < ROUNDS_MAX && (await this.#writeAll(scope)) > 0; round++);
      this.#refuseFailures();
      await this.#audit(sql);
    } finally {
      await inTransaction(sql, (tx) => dropReprojection(tx, run.bucketId));
    }
  }

  async #intoNewTable(): Promise<void> {
    const { sql } = this.#context;
    const { bucketId, space } = this.#plan;
    const resumed = await findResumable(sql, bucketId, space);
    const id = newId('rpj');
    const run = resumed ?? { id, bucketId, space, tableName: nextTableName(bucketId, id) };
    if (resumed) await this.#resume(resumed);
    else await inTransaction(sql, (tx) => startReprojection(tx, run));
    const scope = this.#scope(run.id, true);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const done = await this.#writeAll(scope);
      this.#refuseFailures();
      const isSwapped = await swapTable(this.#context, this.#caller.orgId, run, async (tx) => {
        if (await store.hasUnwrittenDocuments(tx, scope)) return false;
        await store.activateGenerations(tx, scope, null);
        await this.#audit(tx);
        return true;
      });
      if (isSwapped) return;
      // Documents that were added in the meantime cannot be reprojected; the plan of a new run names them.
      if (done === 0) break;
    }
    throw conflict(
      'documents were added or changed faster than they could be reprojected; run the command again',
      'reproject_incomplete',
    );
  }

  /** Keep the generations that a killed run completed with the same maps, and forget the incomplete ones. */
  async #resume(run: Parameters<typeof countWritten>[1]): Promise<void> {
    const { sql, objects, index } = this.#context;
    const rows = await countWritten(this.#context, run);
    const incomplete: number[] = [];
    const versions = new Map(this.#plan.targets.map((target) => [target.id, target.mapVersion]));
    for (const { id, chunksCount, artifactKey, model, mapVersion } of await store.selectWritten(sql, run.id)) {
      if (rows.get(id) === chunksCount && versions.get(model) === mapVersion) {
        this.#resumedChunks += chunksCount;
        continue;
      }
      await objects.delete(artifactKey);
      incomplete.push(id);
    }
    await forgetGenerations(sql, incomplete);
    await index.dropGenerations(run.bucketId, incomplete, this.#signal);
  }

  /** Reproject every document that is pending now. @returns the number of these documents */
  async #writeAll(scope: store.RunScope): Promise<number> {
    const failure = new AbortController();
    const signal = AbortSignal.any([this.#signal, failure.signal]);
    const batches = this.#batches(scope, signal);
    let pending = 0;
    const work = async () => {
      try {
        for (let next = await batches.next(); !next.done; next = await batches.next()) {
          pending += next.value.length;
          await this.#writeOne(scope, next.value, signal);
        }
      } catch (error) {
        failure.abort(error);
      }
    };
    // All batches have stopped before the error is thrown.
    await Promise.all(Array.from({ length: CONCURRENT_BATCHES }, work));
    signal.throwIfAborted();
    return pending;
  }

  async *#batches(scope: store.RunScope, signal: AbortSignal): AsyncGenerator<store.PendingDocument[]> {
    const failed = new Set(this.#failures.map(({ documentId }) => documentId));
    let batch: store.PendingDocument[] = [];
    let chunks = 0;
    let afterId = '';
    for (;;) {
      signal.throwIfAborted();
      const page = await store.selectPending(this.#context.sql, scope, { afterId, limit: BATCH_DOCUMENTS });
      for (const document of page) {
        if (failed.has(document.id)) continue;
        const isFull = chunks + document.chunksCount > BATCH_CHUNKS || batch.length === BATCH_DOCUMENTS;
        if (isFull && batch.length > 0) {
          yield batch;
          batch = [];
          chunks = 0;
        }
        batch.push(document);
        chunks += document.chunksCount;
      }
      const last = page.at(-1);
      if (page.length < BATCH_DOCUMENTS || !last) break;
      afterId = last.id;
    }
    if (batch.length > 0) yield batch;
  }

  async #writeOne(
    scope: store.RunScope,
    documents: readonly store.PendingDocument[],
    signal: AbortSignal,
  ): Promise<void> {
    const { sql } = this.#context;
    signal.throwIfAborted();
    if (!(await touchReprojection(sql, scope.runId))) throw gone();
    const { written, failures } = await writeBatch(this.#batchContext(signal), scope, documents);
    this.#failures.push(...failures);
    const ids = written.map(({ id }) => id);
    const activated = scope.moves ? null : new Set(await this.#activate(scope, ids));
    for (const { documentId, chunks } of written) {
      if (activated && !activated.has(documentId)) continue;
      this.#documents++;
      this.#chunks += chunks;
    }
    this.#onProgress(this.#resumedChunks + this.#chunks, this.#plan.chunks);
  }

  #activate(scope: store.RunScope, generations: readonly number[]): Promise<string[]> {
    return inTransaction(this.#context.sql, async (tx) => {
      if (!(await lockIndexSpace(tx, scope.bucketId, scope.space))) throw gone();
      return store.activateGenerations(tx, scope, generations);
    });
  }

  #batchContext(signal: AbortSignal): BatchContext {
    const { sql, objects, threads, index } = this.#context;
    const maps = new Map(this.#plan.targets.map(({ id, map }) => [id, map]));
    const mapOf = (model: string) => {
      const map = maps.get(model);
      if (!map) throw new Error(`this run has no map of ${model}`);
      return map;
    };
    return { sql, objects, threads, index, mapOf, signal };
  }

  #scope(runId: string, moves: boolean): store.RunScope {
    const { bucketId, space, targets } = this.#plan;
    return { runId, orgId: this.#caller.orgId, bucketId, space, targets, moves };
  }

  #audit(tx: Sql): Promise<void> {
    const { bucketId, space, targets } = this.#plan;
    const maps = targets.map(({ id, mapVersion }) => ({ model: id, map_version: mapVersion }));
    return recordAudit(tx, {
      ...{ orgId: this.#caller.orgId, actor: this.#caller.actor, action: 'index.reproject', target: bucketId },
      detail: { space, maps, documents: this.#documents },
    });
  }

  #refuseFailures(): void {
    const [first] = this.#failures;
    if (!first) return;
    const count = this.#failures.length;
    throw new AppError({
      code: 'reproject_incomplete',
      status: 409,
      message: `${count} ${count === 1 ? 'document' : 'documents'} could not be reprojected; the first is ${first.documentId} (${(first.error as Error).message}); delete ${count === 1 ? 'it' : 'them'} or reprocess, then run it again`,
      details: { documents: this.#failures.slice(0, 100).map(({ documentId }) => documentId) },
      cause: first.error,
    });
  }
}

function gone(): AppError {
  return conflict('this reprojection was abandoned or its bucket was deleted; start it again', 'reprojection_gone');
}
