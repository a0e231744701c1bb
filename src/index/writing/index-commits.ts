import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { AppError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import type { ChunkIndex, TableState } from '../chunk-index.ts';
import { refusalOf } from '../comparability.ts';
import { adoptOrigin, findKnownGenerations, getIndexTable, nameOfTable } from '../index-store.ts';
import { type Append, generationOf } from './appends.ts';
import { publishVersion } from './index-versions-store.ts';
import { findReindexRun } from './reindex-store.ts';
import { generationGone, lockedBy, reprojectionGone, type StillHeld } from './writer-lock.ts';

/** Remove all chunks of generations, then unregister the generations. */
type DropGenerations = (bucketId: string, generations: readonly number[], signal: AbortSignal) => Promise<void>;

interface CommitContext {
  readonly sql: Sql;
  readonly chunks: ChunkIndex;
  readonly logger: Logger;
}

/** Committer of appended generations, under the lock of the index. */
export class IndexCommits {
  readonly #sql: Sql;
  readonly #chunks: ChunkIndex;
  readonly #logger: Logger;
  readonly #dropGenerations: DropGenerations;

  constructor({ sql, chunks, logger }: CommitContext, dropGenerations: DropGenerations) {
    this.#sql = sql;
    this.#chunks = chunks;
    this.#logger = logger;
    this.#dropGenerations = dropGenerations;
  }

  /** Make one commit per table under the lock. Resolve the appends that were written, and reject the others. */
  async commit(bucketId: string, batch: Append[], stillHeld: StillHeld): Promise<void> {
    // Read this under the lock: generations that a deletion unregistered before must not come back.
    const known = await findKnownGenerations(this.#sql, batch.map(generationOf));
    for (const append of batch) if (!known.has(generationOf(append))) append.reject(generationGone());
    const wanted = batch.filter((append) => known.has(generationOf(append)));
    for (const [runId, appends] of Map.groupBy(wanted, (append) => append.run)) {
      if (runId === null) await this.#commitToOwn(bucketId, appends, stillHeld);
      else await this.#commitToNext(bucketId, runId, appends, stillHeld);
    }
  }

  async #commitToOwn(bucketId: string, appends: Append[], stillHeld: StillHeld): Promise<void> {
    const held = await getIndexTable(this.#sql, bucketId);
    let origin = held?.origin ?? null;
    const comparable: Append[] = [];
    for (const append of appends) {
      const given = append.origin;
      if (given === null) {
        comparable.push(append);
        continue;
      }
      origin ??= given;
      if (given.space !== origin.space && (await this.#adopts(bucketId, given))) origin = given;
      if (given.space === origin.space) comparable.push(append);
      else append.reject(await refusalOf(this.#sql, bucketId, { held: origin.space, given: given.space }));
    }
    if (comparable.length === 0) return;
    const name = held?.name ?? (await nameOfTable(this.#sql, bucketId));
    const written = await this.#write(bucketId, name, comparable, stillHeld);
    const settled = written.isDueToSettle ? await this.#settleBetweenCommits(bucketId, written.name) : null;
    const state = settled ?? written;
    await publishVersion(this.#sql, bucketId, { ...state, origin, settled: settled !== null });
    this.#chunks.notePublished(state);
    if (!(await stillHeld())) await this.#removeForgotten(bucketId, comparable);
    for (const append of comparable) append.resolve();
  }

  /** Settle between two commits. A failure doesn't fail the commit, whose rows are already stored and searchable. */
  async #settleBetweenCommits(bucketId: string, table: string): Promise<TableState | null> {
    try {
      return await this.#chunks.settle(table);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'settle_failed')) throw error;
      this.#logger.warn({ err: error, bucket_id: bucketId }, 'the index was not settled');
      return null;
    }
  }

  /**
   * Commit to the table that will replace the bucket's own. No search reads it yet, so it is settled once at the end.
   */
  async #commitToNext(bucketId: string, runId: string, appends: Append[], stillHeld: StillHeld): Promise<void> {
    const run = await findReindexRun(this.#sql, bucketId);
    if (run?.id !== runId || run.tableName === null) {
      for (const append of appends) append.reject(reprojectionGone());
      return;
    }
    await this.#write(bucketId, run.tableName, appends, stillHeld);
    for (const append of appends) append.resolve();
  }

  #write(bucketId: string, name: string, appends: Append[], stillHeld: StillHeld): Promise<TableState> {
    const generations = appends.map(({ generation }) => generation);
    const onLate = () => void this.#removeForgotten(bucketId, appends).catch(() => undefined);
    return this.#chunks.append(name, generations, { ...lockedBy(stillHeld), onLate });
  }

  /**
   * Remove the rows of generations that were unregistered during the commit. A suspended process can lose the lock just
   * before its commit, which LanceDB can't refuse. No sweep finds unregistered generations, so their writer removes the
   * rows.
   */
  async #removeForgotten(bucketId: string, appends: readonly Append[]): Promise<void> {
    const ids = appends.map(generationOf);
    const known = await findKnownGenerations(this.#sql, ids);
    const gone = ids.filter((id) => !known.has(id));
    if (gone.length > 0) await this.#dropGenerations(bucketId, gone, new AbortController().signal);
    for (const append of appends) if (!known.has(generationOf(append))) append.reject(generationGone());
  }

  /** Adopt the space of new vectors if the bucket has no searchable vectors. */
  #adopts(bucketId: string, origin: VectorOrigin): Promise<boolean> {
    return inTransaction(this.#sql, (tx) => adoptOrigin(tx, bucketId, origin));
  }
}
