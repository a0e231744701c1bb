import type { BuildAhead } from '../chunk-index.ts';
import type { LanceTables } from './lance.ts';
import { buildIndex, ROWS_IN_PROCESS_MAX } from './settle.ts';
import { VECTOR_INDEX_LATE_ROWS_MAX, VECTOR_INDEX_ROWS_MIN } from './vector-index.ts';

/** Share of the rows, and rows, that may be written after the index of the keywords is built. */
const LATE_SHARE_MAX = 0.15;
const LATE_ROWS_MAX = 12_288;
/** Share of the rows that may be written after the index of the vectors is built. */
const LATE_VECTORS_SHARE_MAX = 0.5;

type Step = 'index_tokens' | 'index_vectors';

/**
 * Indexes of a large table that are built while its last rows are still made and appended, so that the table can
 * replace another one as soon as it is complete. Its files are merged afterwards.
 */
export class LanceBuildAhead implements BuildAhead {
  readonly #tables: LanceTables;
  readonly #name: string;
  readonly #withLock: (work: () => Promise<void>) => Promise<void>;
  /** Rows from which each index is built, by its step. */
  readonly #dueAt = new Map<Step, number>();
  #building: Promise<void> = Promise.resolve();

  /** @param rows rows that the table will have */
  constructor(tables: LanceTables, name: string, rows: number, withLock: (work: () => Promise<void>) => Promise<void>) {
    this.#tables = tables;
    this.#name = name;
    this.#withLock = withLock;
    if (rows <= ROWS_IN_PROCESS_MAX) return;
    this.#dueAt.set('index_tokens', rows - Math.min(rows * LATE_SHARE_MAX, LATE_ROWS_MAX));
    if (rows < VECTOR_INDEX_ROWS_MIN) return;
    const most = rows - Math.min(rows * LATE_VECTORS_SHARE_MAX, VECTOR_INDEX_LATE_ROWS_MAX / 2);
    this.#dueAt.set('index_vectors', Math.max(VECTOR_INDEX_ROWS_MIN, most));
  }

  written(rows: number): void {
    for (const [step, dueAt] of this.#dueAt) {
      if (rows < dueAt) continue;
      this.#dueAt.delete(step);
      this.#building = this.#building.then(() => this.#build(step)).catch(() => undefined);
    }
  }

  async finish(): Promise<void> {
    await this.#building;
  }

  async #build(step: Step): Promise<void> {
    await this.#withLock(async () => {
      // It may have been dropped with its bucket.
      if (await this.#tables.has(this.#name)) await buildIndex(this.#tables, this.#name, step);
    });
  }
}
