import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { TableVersion } from '../chunk-index.ts';
import { hashOf, type SampledRow } from '../row-sample.ts';
import { SAMPLED_ROWS_MAX, type TableSample } from '../row-samples.ts';
import type { LanceTables } from './lance.ts';

/** Number of rows above which the sample is spread by offset, since reading all chunk ids takes too long. */
const DRAWN_ROWS_MAX = 200_000;

/** Read a sample of a table's rows. */
export async function sampleTable(tables: LanceTables, { name, version }: TableVersion): Promise<TableSample> {
  const table = await tables.openForReading(name, version);
  const tableRows = (await table?.countRows()) ?? 0;
  return { rows: table === null ? [] : await readRows(table, tableRows), tableRows };
}

async function readRows(table: Table, rows: number): Promise<SampledRow[]> {
  if (rows === 0) return [];
  const isDrawn = rows > SAMPLED_ROWS_MAX && rows <= DRAWN_ROWS_MAX;
  const taken = isDrawn ? table.takeRowIds(await drawRowIds(table)) : table.takeOffsets(spreadOffsets(rows));
  const found = await taken.select(['document_id', 'tokens', 'vector']).toArrow();
  return found.batches.flatMap((batch) => toSampledRows(batch as unknown as RecordBatch));
}

/**
 * Pick the rows whose chunk ids have the lowest hashes. Settling doesn't change this sample, and a few new chunks
 * change few of its rows, so relevance stays stable.
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

/** Return evenly spaced offsets in a table. */
function spreadOffsets(rows: number): number[] {
  const count = Math.min(rows, SAMPLED_ROWS_MAX);
  return Array.from({ length: count }, (_, nth) => Math.floor(((nth + 0.5) * rows) / count));
}

function toSampledRows(batch: RecordBatch): SampledRow[] {
  const [documentIds, tokens, vectors] = ['document_id', 'tokens', 'vector'].map((column) => batch.getChild(column));
  const [data] = vectors?.data ?? [];
  const components = data?.children[0]?.values as Float32Array;
  const first = (data?.offset ?? 0) * INDEX_DIMENSIONS;
  // Copy the vectors once, so that the sample doesn't keep LanceDB's reply in memory.
  const own = components.slice(first, first + batch.numRows * INDEX_DIMENSIONS);
  return Array.from({ length: batch.numRows }, (_, row) => ({
    documentId: documentIds?.get(row) as string,
    vector: own.subarray(row * INDEX_DIMENSIONS, (row + 1) * INDEX_DIMENSIONS),
    terms: new Set(String(tokens?.get(row)).split(' ').map(hashOf)),
  }));
}
