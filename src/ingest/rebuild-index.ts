import pLimit from 'p-limit';
import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { findBucket } from '../documents/buckets.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { inTransaction, withAdvisoryLock } from '../platform/postgres.ts';
import { getIndexTable } from '../search/index-store.ts';
import { copyGenerations, countWritten, nextTableName, swapTable } from '../search/replace-table.ts';
import {
  findResumable,
  type Reprojection,
  startReprojection,
  touchReprojection,
} from '../search/reprojection-store.ts';
import { readArtifact } from './artifact-store.ts';
import { analyseArtifacts, rowsOf } from './index-rows.ts';
import { type LiveGeneration, selectLiveGenerations, selectLiveIds, selectPendingIds } from './rebuild-store.ts';
import type { ReprojectContext } from './reproject-bucket.ts';

/**
 * Maximum of documents and chunks in one batch, which is in memory at once; a document with more chunks is a batch by
 * itself.
 */
const BATCH_DOCUMENTS = 256;
const BATCH_CHUNKS = 2_000;
/** Chunks appended to the index at once. */
const APPEND_CHUNKS = 1_000;
const OBJECT_READS_MAX = 8;
/** Maximum of rounds. Documents that are added or changed during a round make another one necessary. */
const ROUNDS_MAX = 10;

export interface RebuildReport {
  readonly bucket_id: string;
  readonly documents: number;
  readonly chunks: number;
  /** Documents whose stored chunks are damaged or missing; no search finds them until they are reprocessed. */
  readonly left_out: readonly string[];
}

type RebuildContext = Omit<ReprojectContext, 'projections' | 'findModel'>;

/**
 * Rebuild the index of a bucket from the chunk artifacts in object storage; no provider is called. The new table is
 * built beside the current one, if that still exists, and replaces it in one transaction, so searches continue
 * meanwhile. The next run resumes one that was killed.
 *
 * @param options.leaveOutDamaged leave out documents whose artifact cannot be read
 * @param options.onProgress chunks done so far
 * @throws AppError `bucket_not_found` (404), `index_empty` (409) if nothing was ever indexed, `artifact_corrupt` (409),
 *   `index_busy` (409), `reprojection_gone` (409); the signal's reason
 */
export async function rebuildIndex(
  context: RebuildContext,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  bucketRef: string,
  options: { leaveOutDamaged?: boolean; signal: AbortSignal; onProgress?: (done: number) => void },
): Promise<RebuildReport> {
  const bucket = await findBucket(context.sql, caller.orgId, bucketRef);
  const run = (_stillHeld: unknown, lost: AbortSignal) => {
    const signal = AbortSignal.any([options.signal, lost]);
    return new Rebuild(context, caller, bucket.id, { ...options, signal }).run();
  };
  // The lock excludes other rebuilds and reprojections of the bucket, which replace the table too.
  return withAdvisoryLock(context.direct, `reproject/${bucket.id}`, run, { signal: options.signal });
}

class Rebuild {
  readonly #context: RebuildContext;
  readonly #caller: Pick<Caller, 'orgId' | 'actor'>;
  readonly #bucketId: string;
  readonly #options: { leaveOutDamaged?: boolean; signal: AbortSignal; onProgress?: (done: number) => void };
  /** Generations that are in the new table. */
  readonly #written = new Set<number>();
  readonly #leftOut = new Map<number, string>();
  #chunks = 0;

  constructor(
    context: RebuildContext,
    caller: Pick<Caller, 'orgId' | 'actor'>,
    bucketId: string,
    options: { leaveOutDamaged?: boolean; signal: AbortSignal; onProgress?: (done: number) => void },
  ) {
    this.#context = context;
    this.#caller = caller;
    this.#bucketId = bucketId;
    this.#options = options;
  }

  async run(): Promise<RebuildReport> {
    const run = await this.#begin();
    for (let round = 0; round < ROUNDS_MAX; round++) {
      await this.#writeAll(run);
      this.#options.signal.throwIfAborted();
      if (await this.#swap(run)) {
        return {
          ...{ bucket_id: this.#bucketId, documents: this.#written.size, chunks: this.#chunks },
          left_out: [...this.#leftOut.values()],
        };
      }
    }
    throw conflict(
      'documents were added or changed faster than they could be written to the new index; run the command again',
      'index_busy',
    );
  }

  async #begin(): Promise<Reprojection> {
    const { sql } = this.#context;
    const held = await getIndexTable(sql, this.#bucketId);
    if (held?.space == null)
      throw conflict('nothing was indexed in this bucket yet; upload documents first', 'index_empty');
    const resumed = await findResumable(sql, this.#bucketId, held.space);
    if (resumed) {
      await this.#resume(resumed);
      return resumed;
    }
    const id = newId('rpj');
    const run = { id, bucketId: this.#bucketId, space: held.space, tableName: nextTableName(this.#bucketId, id) };
    await inTransaction(sql, (tx) => startReprojection(tx, run));
    return run;
  }

  /** Keep the generations that a killed run wrote completely, and remove the incomplete ones. */
  async #resume(run: Reprojection): Promise<void> {
    const { sql, index } = this.#context;
    const rows = await countWritten(this.#context, run);
    const scope = { orgId: this.#caller.orgId, bucketId: this.#bucketId };
    for (let afterId = ''; ; ) {
      const page = await selectLiveGenerations(sql, scope, { afterId, limit: 1_000 });
      for (const { id, chunksCount } of page) {
        if (rows.get(id) !== chunksCount) continue;
        this.#written.add(id);
        this.#chunks += chunksCount;
        rows.delete(id);
      }
      const last = page.at(-1);
      if (!last) break;
      afterId = last.documentId;
    }
    await index.dropGenerationsOfRun(run, [...rows.keys()], this.#options.signal);
  }

  async #writeAll(run: Reprojection): Promise<void> {
    const { sql } = this.#context;
    const scope = { orgId: this.#caller.orgId, bucketId: this.#bucketId };
    for (let afterId = ''; ; ) {
      const page = await selectLiveGenerations(sql, scope, { afterId, limit: BATCH_DOCUMENTS });
      const last = page.at(-1);
      if (!last) return;
      afterId = last.documentId;
      for (const batch of divideIntoBatches(
        page.filter(({ id }) => !this.#written.has(id) && !this.#leftOut.has(id)),
      )) {
        this.#options.signal.throwIfAborted();
        if (!(await touchReprojection(sql, run.id))) throw gone();
        await this.#write(run, batch);
      }
    }
  }

  async #write(run: Reprojection, batch: readonly LiveGeneration[]): Promise<void> {
    const { threads, index } = this.#context;
    const { signal } = this.#options;
    const limit = pLimit(OBJECT_READS_MAX);
    const read = await awaitAll(batch.map((live) => limit(() => this.#read(live, run.space))));
    const works = read.filter((work) => work !== null);
    const tokens = await analyseArtifacts(
      threads,
      works.map(({ artifact }) => artifact),
      signal,
    );
    const append = async ({ live, artifact }: (typeof works)[number], at: number) => {
      const { chunks, vectors, dimensions } = artifact;
      const source = { ...live, generation: live.id, chunks, vectors, dimensions, tokens: tokens[at] as string[] };
      try {
        for (const rows of rowsOf(source, APPEND_CHUNKS)) {
          await index.append(run.bucketId, rows, run.space, { reprojection: run.id });
        }
      } catch (error) {
        // The document was deleted or ingested again in the meantime.
        if (error instanceof AppError && error.code === 'generation_gone') return;
        throw error;
      }
      this.#written.add(live.id);
      this.#chunks += live.chunksCount;
      this.#options.onProgress?.(this.#chunks);
    };
    await awaitAll(works.map(append));
  }

  /** Read the artifact of a generation; null if its document was deleted or is left out. */
  async #read(live: LiveGeneration, space: string) {
    try {
      const artifact = await readArtifact(this.#context.objects, live.artifactKey);
      if (artifact.space === space && artifact.chunks.length === live.chunksCount) return { live, artifact };
      throw damaged(live.documentId);
    } catch (error) {
      if (!(error instanceof AppError) || error.retryable) throw error;
      const ids = await selectLiveIds(this.#context.sql, this.#caller.orgId, this.#bucketId);
      // The artifact is deleted together with its document.
      if (!ids.includes(live.id)) return null;
      if (!this.#options.leaveOutDamaged) throw damaged(live.documentId, error);
      this.#leftOut.set(live.id, live.documentId);
      return null;
    }
  }

  /** Replace the table; false if documents were added in the meantime. */
  #swap(run: Reprojection): Promise<boolean> {
    const { orgId, actor } = this.#caller;
    return swapTable(this.#context, orgId, run, async (tx, table) => {
      const live = await selectLiveIds(tx, orgId, this.#bucketId);
      if (live.some((id) => !this.#written.has(id) && !this.#leftOut.has(id))) return false;
      // Jobs in progress have written some rows to the current table, and will write the others to the new one.
      await copyGenerations(this.#context, run, table, await selectPendingIds(tx, orgId, this.#bucketId));
      await recordAudit(tx, {
        ...{ orgId, actor, action: 'index.rebuild', target: this.#bucketId },
        detail: { documents: this.#written.size, left_out: [...this.#leftOut.values()].slice(0, 100) },
      });
      return true;
    });
  }
}

function* divideIntoBatches(page: readonly LiveGeneration[]): Generator<LiveGeneration[]> {
  let batch: LiveGeneration[] = [];
  let chunks = 0;
  for (const live of page) {
    if (batch.length > 0 && chunks + live.chunksCount > BATCH_CHUNKS) {
      yield batch;
      batch = [];
      chunks = 0;
    }
    batch.push(live);
    chunks += live.chunksCount;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Await all promises like `Promise.all`, but fail only after every one has settled, so that no work continues in the
 * background.
 */
async function awaitAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

function damaged(documentId: string, cause?: unknown): AppError {
  return new AppError({
    code: 'artifact_corrupt',
    status: 409,
    message: `the stored chunks of the document ${documentId} are damaged or missing; reprocess it, or leave out such documents`,
    details: { document_id: documentId },
    cause,
  });
}

function gone(): AppError {
  return conflict('this rebuild was abandoned or its bucket was deleted; start it again', 'reprojection_gone');
}
