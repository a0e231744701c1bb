import { createHash } from 'node:crypto';
import type { RecordBatch } from 'apache-arrow';
import { expect, it } from 'vitest';
import { toArrowTable } from '../../../src/search/chunk-table.ts';
import { KeywordRows } from '../../../src/search/resident/keyword-rows.ts';
import type { RowBatch, Utf8Column } from '../../../src/search/resident/protocol.ts';
import { toRowBatch } from '../../../src/search/resident/read-rows.ts';
import { decodeRows, encodeRows, type TableRows } from '../../../src/search/resident/row-file.ts';
import { generationOf } from './draw-rows.ts';

const batchOf = (generation: number, texts: readonly string[]) => {
  const [batch] = toArrowTable([generationOf(generation, texts)]).batches;
  return toRowBatch(batch as RecordBatch);
};
const keywordsOf = (batches: readonly RowBatch[]) => {
  const keywords = new KeywordRows();
  for (const { tokens, count } of batches) keywords.addAll(tokens, 0, count);
  return keywords.columns;
};
const batches = [batchOf(1, ['The heron stands.', '왜가리가 서 있다', '']), batchOf(2 ** 40, ['A second commit 🐦'])];
const rows: TableRows = { version: 17, lastRowId: 2n ** 33n + 5n, batches, keywords: keywordsOf(batches) };
const textsOf = ({ offsets, bytes }: Utf8Column) =>
  Array.from({ length: offsets.length - 1 }, (_, at) =>
    new TextDecoder().decode(bytes.subarray(offsets[at], offsets[at + 1])),
  );
/** Decode a file of this format. */
const decode = (bytes: Uint8Array) => decodeRows(bytes) as TableRows;
const file = () => new Uint8Array(Buffer.concat(encodeRows(rows)));

it('a file has the rows that were written', () => {
  const read = decode(file());
  expect([read.version, read.lastRowId, read.batches.length]).toEqual([17, 2n ** 33n + 5n, 2]);
  for (const [nth, batch] of read.batches.entries()) {
    const { texts, vectors, generations, chunkIndexes, ...others } = rows.batches[nth] as RowBatch;
    expect(textsOf(batch.texts)).toEqual(textsOf(texts));
    expect([batch.vectors, batch.generations, batch.chunkIndexes]).toEqual([vectors, generations, chunkIndexes]);
    for (const name of ['chunkIds', 'documentIds', 'locators'] as const)
      expect(textsOf(batch[name])).toEqual(textsOf(others[name]));
  }
  expect(read.keywords).toEqual(rows.keywords);
  expect(textsOf((read.batches[0] as RowBatch).texts)).toEqual(['The heron stands.', '왜가리가 서 있다', '']);
});

it('rows of a part of larger columns begin at the start of their own', () => {
  const [batch] = rows.batches as [RowBatch];
  const shifted = {
    ...batch,
    texts: {
      offsets: batch.texts.offsets.map((at) => at + 4),
      bytes: Buffer.concat([Buffer.from('more'), batch.texts.bytes]),
    },
  };
  const bytes = new Uint8Array(
    Buffer.concat(encodeRows({ ...rows, batches: [shifted], keywords: keywordsOf([batch]) })),
  );
  const [read] = decode(bytes).batches as [RowBatch];
  expect(read.texts.offsets).toEqual(batch.texts.offsets);
  expect(textsOf(read.texts)).toEqual(textsOf(batch.texts));
});

it('a file without rows has none', () => {
  const none = { version: 3, lastRowId: -1n, batches: [], keywords: keywordsOf([]) };
  expect(decodeRows(new Uint8Array(Buffer.concat(encodeRows(none))))).toEqual(none);
});

it('a file has the columns where the format says, with readable metadata', () => {
  const bytes = Buffer.from(file());
  const length = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Record<
    string,
    { data_offsets: [number, number] }
  >;
  expect((8 + length) % 8).toBe(0);
  expect(header['__metadata__']).toEqual({
    ...{ format: 'rows 3', version: '17', last_row_id: '8589934597', batches: '2' },
  });
  const ends = Object.entries(header).flatMap(([name, entry]) => (name === '__metadata__' ? [] : [entry.data_offsets]));
  expect(ends.map(([start]) => start)).toEqual([0, ...ends.map(([, end]) => end).slice(0, -1)]);
  expect(ends.at(-1)?.[1]).toBe(bytes.length - 8 - length);
});

it('a file of other content has another format', () => {
  // If this fails, the columns or the hash of terms are others: change the format in `row-file.ts`, and this.
  const withoutVectors = batches.map((batch) => ({ ...batch, vectors: batch.vectors.map(() => 0) }));
  const parts = encodeRows({ ...rows, batches: withoutVectors });
  expect(createHash('sha256').update(Buffer.concat(parts)).digest('hex')).toBe(
    'e8326751756c84b047f9eb96b298afa23146294669d6845c9c5ca9b5b470185d',
  );
});

it('an index of other rows is refused', () => {
  const bytes = new Uint8Array(Buffer.concat(encodeRows({ ...rows, keywords: keywordsOf(batches.slice(1)) })));
  expect(() => decodeRows(bytes)).toThrow('its index is of other rows');
});

it('a file that was cut anywhere is refused', () => {
  const bytes = file();
  for (const length of [0, 5, 8, 300, 2_000, bytes.length - 5_000, bytes.length - 1]) {
    expect(() => decodeRows(bytes.slice(0, length)), `${length} bytes`).toThrow();
  }
});

it('a file of another format has no rows, and something else is refused', () => {
  const text = Buffer.from(file()).toString('latin1').replace('rows 3', 'rows 0');
  expect(decodeRows(new Uint8Array(Buffer.from(text, 'latin1')))).toBeNull();
  const without = Buffer.from(file()).toString('latin1').replace('"batches":"2"', '"batches":"x"');
  expect(() => decodeRows(new Uint8Array(Buffer.from(without, 'latin1')))).toThrow('no version or number of batches');
  expect(() => decodeRows(new Uint8Array(64).fill(7))).toThrow('it is too short');
});
