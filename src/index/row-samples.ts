import { LRUCache } from 'lru-cache';
import type { TableVersion } from './chunk-index.ts';
import { RowSample, type SampledRow } from './row-sample.ts';

/** Number of rows per sample. A smaller table is its own sample. */
export const SAMPLED_ROWS_MAX = 128;
/** Maximum number of cached samples, half a megabyte each. */
const SAMPLES_MAX = 48;
/** Maximum rows of a table whose sample is reread after each write, in a few milliseconds. */
export const REREAD_ROWS_MAX = 20_000;
/** Time after which the sample of a larger table is reread. */
const KEPT_MS = 10 * 60_000;
/** Maximum number of tables to sample per search. */
export const SAMPLED_TABLES_MAX = 4;

/** Sample of a table's rows, as read by a driver. */
export interface TableSample {
  readonly rows: readonly SampledRow[];
  /** Number of rows of the table. */
  readonly tableRows: number;
}

interface Sample {
  readonly version: number;
  readonly read: Promise<RowSample>;
  /** True if the sample also serves later versions of its table. */
  isKept: boolean;
}

/** Cached samples of table rows. A small table with an in-memory copy needs none. */
export class RowSamples {
  readonly #byTable = new LRUCache<string, Sample>({ max: SAMPLES_MAX, ttl: KEPT_MS });
  readonly #readSample: (table: TableVersion) => Promise<TableSample>;

  constructor(readSample: (table: TableVersion) => Promise<TableSample>) {
    this.#readSample = readSample;
  }

  /** Return samples of the first few tables. Skip unreadable ones. */
  async read(tables: readonly TableVersion[]): Promise<readonly RowSample[]> {
    const samples = tables.slice(0, SAMPLED_TABLES_MAX).map((table) => this.#find(table));
    const read = await Promise.allSettled(samples);
    return read.flatMap((found) => (found.status === 'fulfilled' ? [found.value] : []));
  }

  #find({ name, version }: TableVersion): Promise<RowSample> {
    const known = this.#byTable.get(name);
    if (known && (known.version >= version || known.isKept)) return known.read;
    const reading = this.#readSample({ name, version });
    const found: Sample = { version, read: reading.then(({ rows }) => new RowSample(rows)), isKept: false };
    this.#byTable.set(name, found);
    reading.then(
      ({ tableRows }) => {
        found.isKept = tableRows > REREAD_ROWS_MAX;
      },
      () => this.#byTable.delete(name),
    );
    return found.read;
  }
}
