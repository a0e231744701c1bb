import type { Table } from '@lancedb/lancedb';
import type { Data, RecordBatch } from 'apache-arrow';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { RowBatch, RowKeys, Utf8Column } from '../../resident/protocol.ts';
import { BOILERPLATE } from '../boilerplate.ts';

const COLUMNS = ['chunk_id', 'document_id', 'generation', 'chunk_index', 'text', 'tokens', 'locator', 'vector'];
const ROW_ID = '_rowid';

/** Row keys with their row addresses in the table's files. */
export interface AddressedKeys extends RowKeys {
  readonly rowIds: BigUint64Array;
}

/**
 * Read the rows of a table in table order. Appended rows come last.
 *
 * @param first position of the first row
 * @returns batches, each with the address of its first row and the largest address
 */
export async function* readRows(
  table: Table,
  first = 0,
): AsyncGenerator<{ batch: RowBatch; firstRowId: bigint; lastRowId: bigint }> {
  for await (const batch of table.query().select(COLUMNS).withRowId().offset(first)) {
    const own = batch as unknown as RecordBatch;
    if (own.numRows === 0) continue;
    const rowIds = bigintsOf<BigUint64Array>(own, ROW_ID);
    yield { batch: toRowBatch(own), firstRowId: rowIds[0] as bigint, lastRowId: largest(rowIds) };
  }
}

/** Return a batch without its first row, as views. */
export function withoutFirst(batch: RowBatch): RowBatch {
  const after = ({ offsets, bytes }: Utf8Column) => ({ offsets: offsets.subarray(1), bytes });
  return {
    count: batch.count - 1,
    chunkIds: after(batch.chunkIds),
    documentIds: after(batch.documentIds),
    generations: batch.generations.subarray(1),
    chunkIndexes: batch.chunkIndexes.subarray(1),
    texts: after(batch.texts),
    tokens: after(batch.tokens),
    locators: after(batch.locators),
    boilerplate: batch.boilerplate.subarray(1),
    vectors: batch.vectors.subarray(INDEX_DIMENSIONS),
  };
}

/** Read the rows at these addresses. */
export async function* takeRows(table: Table, rowIds: readonly bigint[]): AsyncGenerator<RowBatch> {
  const rows = await table.takeRowIds(rowIds).select(COLUMNS).toArrow();
  for (const batch of rows.batches) if (batch.numRows > 0) yield toRowBatch(batch as unknown as RecordBatch);
}

/**
 * Read the keys of rows with an address above `after`, or of all rows if `after` is negative or null. Merging rows into
 * new files gives them larger addresses.
 */
export async function readKeys(table: Table, after: bigint | null): Promise<AddressedKeys> {
  const query = table.query().select(['generation', 'chunk_index']).withRowId();
  const rows = await (after === null || after < 0n ? query : query.where(`${ROW_ID} > ${after}`)).toArrow();
  const batches = rows.batches as unknown as RecordBatch[];
  const [rowIds, generations, chunkIndexes] = [
    new BigUint64Array(rows.numRows),
    new BigInt64Array(rows.numRows),
    new Int32Array(rows.numRows),
  ];
  let start = 0;
  for (const batch of batches) {
    rowIds.set(bigintsOf<BigUint64Array>(batch, ROW_ID), start);
    generations.set(bigintsOf<BigInt64Array>(batch, 'generation'), start);
    chunkIndexes.set(valuesOf<Int32Array>(batch, 'chunk_index'), start);
    start += batch.numRows;
  }
  return { rowIds, generations, chunkIndexes };
}

/** Return the largest address, or -1 for an empty list. */
export function largest(rowIds: Iterable<bigint>): bigint {
  let most = -1n;
  for (const id of rowIds) if (id > most) most = id;
  return most;
}

/** Convert a batch of the index's schema to rows, as views of its columns. */
export function toRowBatch(batch: RecordBatch): RowBatch {
  const vector = dataOf(batch, 'vector');
  const locators = textsOf(batch, 'locator');
  const components = (vector.children[0] as Data).values as Float32Array;
  const first = vector.offset * INDEX_DIMENSIONS;
  return {
    count: batch.numRows,
    chunkIds: textsOf(batch, 'chunk_id'),
    documentIds: textsOf(batch, 'document_id'),
    generations: bigintsOf<BigInt64Array>(batch, 'generation'),
    chunkIndexes: valuesOf<Int32Array>(batch, 'chunk_index'),
    texts: textsOf(batch, 'text'),
    tokens: textsOf(batch, 'tokens'),
    locators,
    boilerplate: findBoilerplate(locators),
    vectors: components.subarray(first, first + batch.numRows * INDEX_DIMENSIONS),
  };
}

function dataOf(batch: RecordBatch, name: string): Data {
  const at = batch.schema.fields.findIndex((field) => field.name === name);
  const data = batch.data.children[at];
  if (data === undefined) throw new Error(`the table has no column ${name}`);
  return data;
}

function valuesOf<Values extends Int32Array | BigInt64Array | BigUint64Array>(
  batch: RecordBatch,
  name: string,
): Values {
  const values = dataOf(batch, name).values as Values;
  return values.subarray(0, batch.numRows) as Values;
}

const bigintsOf = valuesOf as <Values extends BigInt64Array | BigUint64Array>(
  batch: RecordBatch,
  name: string,
) => Values;

function textsOf(batch: RecordBatch, name: string): Utf8Column {
  const { valueOffsets, values } = dataOf(batch, name);
  return { offsets: (valueOffsets as Int32Array).subarray(0, batch.numRows + 1), bytes: values as Uint8Array };
}

/** Flag the locators of boilerplate: Uint8Array [rows] of 0 and 1. */
function findBoilerplate({ offsets, bytes }: Utf8Column): Uint8Array {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const rows = offsets.length - 1;
  const flags = new Uint8Array(rows);
  let row = 0;
  for (let at = all.indexOf(BOILERPLATE); at >= 0; at = all.indexOf(BOILERPLATE, at + 1)) {
    while (row < rows && (offsets[row + 1] as number) <= at) row++;
    if (row < rows && (offsets[row] as number) <= at) flags[row] = 1;
  }
  return flags;
}
