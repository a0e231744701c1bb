import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openOldIndex } from '../../src/cli/vectors/old-index.ts';
import type { OldIndexOptions, OldRow } from '../../src/cli/vectors/old-row.ts';

const FIXTURES = new URL('../fixtures/vectors/', import.meta.url).pathname;
const fixture = (name: string) => path.join(FIXTURES, name);

const folder = mkdtempSync(path.join(tmpdir(), 'service-vectors-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, content: string | Uint8Array): string {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
}

async function readAll(file: string, options: OldIndexOptions = {}) {
  const index = await openOldIndex(file, options);
  const rows: OldRow[] = [];
  for await (const row of index.rows()) rows.push(row);
  return { ...index, rows: rows.map(({ vector, ...row }) => ({ ...row, vector: [...vector].map(rounded) })) };
}
const rounded = (value: number) => Math.round(value * 1_000) / 1_000;

const failure = (file: string, options: OldIndexOptions = {}) =>
  readAll(file, options).then(
    () => 'no failure',
    (error: Error) => error.message,
  );

const VECTORS = [
  [0.6, 0.8, 0, 0],
  [0, -1, 0, 0],
  [0.5, 0.5, 0.5, 0.5],
];
const ROWS = [
  { id: 'a', text: 'tab\there', metadata: { lang: 'en', page: 3 } },
  { id: 'b/2', text: 'line\nbreak \\ back', metadata: { tags: '["x","y"]' } },
  { id: '다', text: null, metadata: {} },
].map((row, nth) => ({ ...row, vector: VECTORS[nth] }));

it.each(['none', 'snappy', 'gzip', 'brotli', 'zstd'])('reads Parquet with the compression %s', async (codec) => {
  const { found, total, rows } = await readAll(fixture(`${codec}.parquet`));
  expect(found).toBe('Parquet: ids from id, vectors from embedding, text from content, metadata from metadata');
  expect([total, rows]).toEqual([3, ROWS.map((row, nth) => ({ ...row, place: `row ${nth + 1}` }))]);
});

it('reads a dump of pg_dump, and finds the table with vectors', async () => {
  const { found, rows } = await readAll(fixture('dump.sql'), { textColumn: 'my text' });
  expect(found).toBe(
    'table public.items: ids from id, vectors from embedding, text from my text, metadata from metadata',
  );
  expect(rows).toEqual(ROWS.map((row, nth) => ({ ...row, place: `line ${33 + nth}` })));
});

it('reads the output of \\copy by the names of its columns', async () => {
  const file = written('items.tsv', '7\t[1,0]\ten\tone\n8\t[0,1]\t\\N\ttwo\\x41\\101\n');
  const { rows } = await readAll(file, {
    columns: ['number', 'emb', 'lang', 'words'],
    ...{ idColumn: 'number', textColumn: 'words', metadataColumns: ['lang'] },
  });
  expect(rows).toEqual([
    { id: '7', vector: [1, 0], text: 'one', metadata: { lang: 'en' }, place: 'line 1' },
    { id: '8', vector: [0, 1], text: 'twoAA', metadata: {}, place: 'line 2' },
  ]);
});

it.each(['f2', 'f4', 'f8'])('reads a NumPy matrix of %s, with and without a file of rows', async (type) => {
  const bare = await readAll(fixture(`${type}.npy`));
  expect(bare.found).toBe('NumPy, 3 x 4: row numbers as ids');
  expect(bare.rows.map(({ id, vector }) => [id, vector])).toEqual(
    VECTORS.map((vector, nth) => [`${type}.npy#${nth + 1}`, vector]),
  );
  const lines = ROWS.map(({ id, text, metadata }) => JSON.stringify({ id, text, metadata })).join('\n');
  const { rows } = await readAll(fixture(`${type}.npy`), { rows: written('rows.jsonl', `${lines}\n`) });
  expect(rows).toEqual(ROWS.map((row, nth) => ({ ...row, place: `line ${nth + 1}` })));
});

it('reads JSON lines', async () => {
  const lines = ROWS.map(({ vector: values, ...row }) => JSON.stringify({ ...row, values })).join('\n\n');
  const { found, rows } = await readAll(written('rows.ndjson', lines));
  expect(found).toBe('JSON lines: ids from id, vectors from values, text from text, metadata from metadata');
  expect(rows).toEqual(ROWS.map((row, nth) => ({ ...row, place: `line ${1 + 2 * nth}` })));
});

it('leaves scalars as they are, so that the server refuses rounded numbers, and makes texts of deeper values', async () => {
  const line = '{"id":12,"vector":[1],"metadata":{"big":9007199254740993,"deep":{"a":[1]},"no":null,"yes":true}}';
  const { rows } = await readAll(written('scalars.jsonl', line));
  expect(rows[0]).toMatchObject({ id: '12', metadata: { big: 2 ** 53, deep: '{"a":[1]}', yes: true } });
  expect(rows[0]?.metadata).not.toHaveProperty('no');
});

const refused: readonly (readonly [string, () => string, OldIndexOptions, RegExp])[] = [
  ['a file that is not there', () => path.join(folder, 'none.npy'), {}, /^there is no file .*none\.npy$/],
  ['a dump in the custom format', () => fixture('dump.custom'), {}, /custom format; convert it: pg_restore --file=/],
  ['a compressed dump', () => written('dump.sql.gz', Buffer.from('1f8b0800', 'hex')), {}, /is compressed; unpack it/],
  ['a dump without data', () => written('empty.sql', 'SELECT 1;\n'), {}, /has no "COPY … FROM stdin" with data/],
  ['an unknown table', () => fixture('dump.sql'), { table: 'other' }, /has the tables public.authors, public.items/],
  ['a table without vectors', () => fixture('dump.sql'), { table: 'authors' }, /name the column of the vectors with/],
  [
    'an unknown column',
    () => fixture('none.parquet'),
    { idColumn: 'key' },
    /there is no column "key"; the columns are/,
  ],
  ['a NumPy file by columns', () => fixture('fortran.npy'), {}, /is stored in column order/],
  ['a NumPy file of another byte order', () => fixture('big-endian.npy'), {}, /has the type >f4/],
  ['a NumPy file with one vector', () => fixture('one-vector.npy'), {}, /is not a matrix with one vector per row/],
  [
    'a file that only claims to be NumPy',
    () => written('text.npy', 'some text, long enough'),
    {},
    /is not a NumPy file/,
  ],
  ['a file that only claims to be Parquet', () => written('text.parquet', 'some text, long'), {}, /parquet/],
  ['Parquet with LZ4', () => fixture('lz4.parquet'), {}, /LZ4/],
  [
    'a row without its vector',
    () => written('a.jsonl', '{"id":1,"vector":[1]}\n{"id":2}'),
    {},
    /line 2: vector is not/,
  ],
  ['a row without its id', () => written('b.jsonl', '{"id":1,"vector":[1]}\n{"id":"","vector":[1]}'), {}, /line 2: id/],
  [
    'a rounded id',
    () => written('g.jsonl', '{"id":9007199254740993,"vector":[1]}'),
    {},
    /line 1: id is an integer beyond/,
  ],
  ['a line of broken JSON', () => written('c.jsonl', '{"id":1,"vector":[1]}\n{"id":'), {}, /line 2: is not valid JSON/],
  ['a text that is none', () => written('d.jsonl', '{"id":1,"vector":[1],"text":5}'), {}, /line 1: text is not a text/],
  ['a word in a vector', () => written('e.tsv', '1\t[1,x]\n'), { columns: ['id', 'vector'] }, /line 1: vector is not/],
  [
    'a line with a missing column',
    () => written('f.tsv', '1\n'),
    { columns: ['id', 'vector'] },
    /has 1 columns in place/,
  ],
  ['rows for another format', () => fixture('none.parquet'), { rows: 'x' }, /only a NumPy file needs a file of rows/],
  ['too few rows', () => fixture('f4.npy'), { rows: 'few' }, /has 1 lines for 3 vectors/],
  ['too many rows', () => fixture('f4.npy'), { rows: 'many' }, /has more lines than the 3 vectors/],
];
it.each(refused)('refuses %s, and says what is wrong', async (_, file, options, message) => {
  const lines = { few: '{"id":1}', many: '{"id":1}\n{"id":2}\n{"id":3}\n{"id":4}' }[options.rows ?? ''];
  const rows = lines === undefined ? options.rows : written(`${options.rows}.jsonl`, lines);
  expect(await failure(file(), { ...options, ...(rows === undefined ? {} : { rows }) })).toMatch(message);
});

it('refuses a NumPy file that is cut off', async () => {
  const { readFileSync } = await import('node:fs');
  expect(await failure(written('cut.npy', readFileSync(fixture('f4.npy')).subarray(0, 150)))).toMatch(/is cut off$/);
});
