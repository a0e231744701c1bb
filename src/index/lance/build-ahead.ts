import type { BuildAhead } from '../chunk-index.ts';
import type { LanceTables } from './lance.ts';
import { buildIndex, ROWS_IN_PROCESS_MAX } from './settle.ts';
import { VECTOR_INDEX_LATE_ROWS_MAX, VECTOR_INDEX_ROWS_MIN } from './vector-index.ts';

/** Maximum rows, as a share and a number, that are written after the keyword index is built. */
const LATE_SHARE_MAX = 0.15;
const LATE_ROWS_MAX = 12_288;
/** Maximum share of the rows that is written after the vector index is built. */
const LATE_VECTORS_SHARE_MAX = 0.5;

type Step = 'index_tokens' | 'index_vectors';

/**
 * Builder of the indexes of a large table before its last rows are appended. The table can then replace another one as
 * soon as it is complete. Its files are merged later.
 */
export class LanceBuildAhead implements BuildAhead {
  readonly #tables: LanceTables;
  readonly #name: string;
  readonly #withLock: (work: () => Promise<void>) => Promise<void>;
  /** Number of written rows at which each index is built. */
  readonly #dueAt = new Map<Step, number>();
  #building: Promise<void> = Promise.resolve();

  /** @param rows final number of rows of the table */
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
      // The table may have been dropped with its bucket.
      if (await this.#tables.has(this.#name)) await buildIndex(this.#tables, this.#name, step);
    });
  }
}
