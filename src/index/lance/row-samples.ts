import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { LRUCache } from 'lru-cache';
import type { LanceTables } from '../../index/lance/lance.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { hashOf, RowSample, type SampledRow } from './row-sample.ts';

/** Number of rows of a sample. A smaller table is its own sample. */
export const SAMPLED_ROWS_MAX = 128;
/** Number of rows above which a sample is spread over the table: its chunk ids take too long to read. */
const DRAWN_ROWS_MAX = 200_000;
/** Maximum number of samples to keep. Each takes half a megabyte. */
const SAMPLES_MAX = 48;
/** Number of rows up to which a sample is read again after each write, in some milliseconds. */
export const REREAD_ROWS_MAX = 20_000;
/** Time after which a sample of a larger table is read again. */
const KEPT_MS = 10 * 60_000;
/** Maximum number of tables that one search samples. */
export const SAMPLED_TABLES_MAX = 4;

interface Sample {
  readonly version: number;
  readonly read: Promise<ReadSample>;
  /** True if the sample also serves later versions. */
  isKept: boolean;
}

interface ReadSample {
  readonly sample: RowSample;
  /** Number of rows of the table. */
  readonly tableRows: number;
}

/** Samples of the rows of tables. A small table with a copy in memory needs none. */
export class RowSamples {
  readonly #byTable = new LRUCache<string, Sample>({ max: SAMPLES_MAX, ttl: KEPT_MS });

  /** Return samples of the rows of the first few tables. Leave out those that cannot be read. */
  async read(
    tables: LanceTables,
    indexTables: readonly { readonly name: string; readonly version: number }[],
  ): Promise<readonly RowSample[]> {
    const samples = indexTables
      .slice(0, SAMPLED_TABLES_MAX)
      .map(({ name, version }) => this.#find(tables, name, version));
    const read = await Promise.allSettled(samples);
    return read.flatMap((found) => (found.status === 'fulfilled' ? [found.value.sample] : []));
  }

  #find(tables: LanceTables, name: string, version: number): Promise<ReadSample> {
    const known = this.#byTable.get(name);
    if (known && (known.version >= version || known.isKept)) return known.read;
    const found: Sample = { version, read: readSample(tables, name, version), isKept: false };
    this.#byTable.set(name, found);
    found.read.then(
      ({ tableRows }) => {
        found.isKept = tableRows > REREAD_ROWS_MAX;
      },
      () => this.#byTable.delete(name),
    );
    return found.read;
  }
}

async function readSample(tables: LanceTables, name: string, version: number): Promise<ReadSample> {
  const table = await tables.openForReading(name, version);
  const tableRows = (await table?.countRows()) ?? 0;
  return { sample: new RowSample(table === null ? [] : await sampleTable(table, tableRows)), tableRows };
}

async function sampleTable(table: Table, rows: number): Promise<SampledRow[]> {
  if (rows === 0) return [];
  const isDrawn = rows > SAMPLED_ROWS_MAX && rows <= DRAWN_ROWS_MAX;
  const taken = isDrawn ? table.takeRowIds(await drawRowIds(table)) : table.takeOffsets(spreadOffsets(rows));
  const found = await taken.select(['document_id', 'tokens', 'vector']).toArrow();
  return found.batches.flatMap((batch) => toSampledRows(batch as unknown as RecordBatch));
}

/**
 * Draw the rows whose chunk ids have the lowest hashes. The sample of the same chunks is the same after a table has
 * been settled, and a few new chunks change few of its rows, so that the relevance of a result stays.
 */
async function drawRowIds(table: Table): Promise<bigint[]> {
  const found = await table.query().select(['chunk_id']).withRowId().toArrow();
  const [chunkIds, rowIds] = [found.getChild('chunk_id'), found.getChild('_rowid')];
  const hashed = Array.from({ length: found.numRows }, (_, row) => ({
    hash: hashOf(String(chunkIds?.get(row))),
    rowId: rowIds?.get(row) as bigint,
  }));
  hashed.sort((a, b) => a.hash - b.hash || Number(a.rowId - b.rowId));
  return hashed.slice(0, SAMPLED_ROWS_MAX).map(({ rowId }) => rowId);
}

/** Spread offsets evenly over a table. */
function spreadOffsets(rows: number): number[] {
  const count = Math.min(rows, SAMPLED_ROWS_MAX);
  return Array.from({ length: count }, (_, nth) => Math.floor(((nth + 0.5) * rows) / count));
}

function toSampledRows(batch: RecordBatch): SampledRow[] {
  const [documentIds, tokens, vectors] = ['document_id', 'tokens', 'vector'].map((column) => batch.getChild(column));
  const [data] = vectors?.data ?? [];
  const components = data?.children[0]?.values as Float32Array;
  const first = (data?.offset ?? 0) * INDEX_DIMENSIONS;
  // Copy all of them once, so that the sample does not keep the answer of LanceDB in memory.
  const own = components.slice(first, first + batch.numRows * INDEX_DIMENSIONS);
  return Array.from({ length: batch.numRows }, (_, row) => ({
    documentId: documentIds?.get(row) as string,
    vector: own.subarray(row * INDEX_DIMENSIONS, (row + 1) * INDEX_DIMENSIONS),
    terms: new Set(String(tokens?.get(row)).split(' ').map(hashOf)),
  }));
}
