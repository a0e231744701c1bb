import { buildIndex, ROWS_IN_PROCESS_MAX } from '../lance/settle.ts';
import { VECTOR_INDEX_LATE_ROWS_MAX, VECTOR_INDEX_ROWS_MIN } from '../lance/vector-index.ts';
import type { ReindexRun } from './reindex-store.ts';
import type { TableContext } from './replace-table.ts';
import { withIndexBuildLock } from './writer-lock.ts';

/** Share of the rows, and rows, that may be written after the index of the keywords is built. */
const LATE_SHARE_MAX = 0.15;
const LATE_ROWS_MAX = 12_288;
/** Share of the rows that may be written after the index of the vectors is built. */
const LATE_VECTORS_SHARE_MAX = 0.5;

type Step = 'index_tokens' | 'index_vectors';

/**
 * Indexes of a large table that a run writes. They are built while its last rows are still made and appended, so that the
 * table can replace the bucket's own as soon as it is complete; its files are merged afterwards.
 */
export class EarlyIndexes {
  readonly #context: TableContext;
  readonly #run: ReindexRun;
  /** Rows from which each index is built, by its step. */
  readonly #dueAt = new Map<Step, number>();
  #building: Promise<void> = Promise.resolve();

  /** @param rows rows that the table will have */
  constructor(context: TableContext, run: ReindexRun, rows: number) {
    this.#context = context;
    this.#run = run;
    if (rows <= ROWS_IN_PROCESS_MAX) return;
    this.#dueAt.set('index_tokens', rows - Math.min(rows * LATE_SHARE_MAX, LATE_ROWS_MAX));
    if (rows < VECTOR_INDEX_ROWS_MIN) return;
    const most = rows - Math.min(rows * LATE_VECTORS_SHARE_MAX, VECTOR_INDEX_LATE_ROWS_MAX / 2);
    this.#dueAt.set('index_vectors', Math.max(VECTOR_INDEX_ROWS_MIN, most));
  }

  /** Begin to build the indexes that are due once so many rows are written. */
  written(rows: number): void {
    for (const [step, dueAt] of this.#dueAt) {
      if (rows < dueAt) continue;
      this.#dueAt.delete(step);
      // An index that could not be built is built when the table is settled.
      this.#building = this.#building.then(() => this.#build(step)).catch(() => undefined);
    }
  }

  /** Wait until no index is being built. */
  async finish(): Promise<void> {
    await this.#building;
  }

  async #build(step: Step): Promise<void> {
    const { direct, tables } = this.#context;
    const name = this.#run.tableName as string;
    await withIndexBuildLock(direct, this.#run.bucketId, async () => {
      // It may have been dropped with its bucket.
      if (await tables.has(name)) await buildIndex(tables, name, step);
    });
  }
}
