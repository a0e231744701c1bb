import { LRUCache } from 'lru-cache';
import type { TableVersion } from './chunk-index.ts';
import { RowSample, type SampledRow } from './row-sample.ts';

/** Number of rows of a sample. A smaller table is its own sample. */
export const SAMPLED_ROWS_MAX = 128;
/** Maximum number of samples to keep. Each takes half a megabyte. */
const SAMPLES_MAX = 48;
/** Number of rows up to which a sample is read again after each write, in some milliseconds. */
export const REREAD_ROWS_MAX = 20_000;
/** Time after which a sample of a larger table is read again. */
const KEPT_MS = 10 * 60_000;
/** Maximum number of tables that one search samples. */
export const SAMPLED_TABLES_MAX = 4;

/** Sample of the rows of a table, as a driver reads it. */
export interface TableSample {
  readonly rows: readonly SampledRow[];
  /** Number of rows of the table. */
  readonly tableRows: number;
}

interface Sample {
  readonly version: number;
  readonly read: Promise<RowSample>;
  /** True if the sample also serves later versions. */
  isKept: boolean;
}

/** Samples of the rows of tables. A small table with a copy in memory needs none. */
export class RowSamples {
  readonly #byTable = new LRUCache<string, Sample>({ max: SAMPLES_MAX, ttl: KEPT_MS });
  readonly #readSample: (table: TableVersion) => Promise<TableSample>;

  constructor(readSample: (table: TableVersion) => Promise<TableSample>) {
    this.#readSample = readSample;
  }

  /** Return samples of the rows of the first few tables. Leave out those that cannot be read. */
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
