import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseStatement } from '../../../src/metadata/statement/parser.ts';
import { explainVisibleMatches, selectVisibleMatches } from '../../../src/metadata/store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts';
import { fingerprint } from '../sample.ts';
import { BUCKET_ID, CALLER, insertDocuments, makeDocuments, ORG_ID } from '../sample-documents.ts';

const MANY = 2_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const { sql } = database;
  await insertDocuments(sql, makeDocuments(50));
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, metadata)
    SELECT 'many_' || i, ${ORG_ID}, ${BUCKET_ID}, 'many-' || i || '.pdf', CASE WHEN i % 200 = 0 THEN 'xls' ELSE 'pdf' END, 1, '\\x00', 'k', '{}', 'ready',
           jsonb_build_object('ticket', 'T-' || i, 'language', CASE WHEN i % 2 = 0 THEN 'en' ELSE 'ko' END, 'rank', i::text)
    FROM generate_series(1, ${MANY}) AS i`;
  await sql`ANALYZE documents`;
});
afterAll(() => database.drop());

const scope = (where: string) => ({
  caller: CALLER,
  bucketId: BUCKET_ID,
  where: parseStatement(`SELECT documents WHERE ${where}`).where,
});
const find = (where: string) => selectVisibleMatches(database.sql, scope(where), 20_000);

describe('the index of terms', () => {
  it.each([
    [`ticket = 'T-77'`, 1],
    [`ticket IN ('T-77', 'T-78', NULL)`, 2],
    [`ticket LIKE 'T-77%' AND rank > 100`, 10],
    [`NOT (ticket != 'T-77' OR language = 'en')`, 1],
    [`file_name LIKE 'many-123%'`, 11],
    [`file_type = 'xls'`, 10],
    [`language = 'en' AND (ticket = 'T-78' OR file_name = 'many-80.pdf')`, 2],
    [`id IN ('many_5', 'many_6') OR ticket NOT IN ('T-1') AND ticket LIKE 'T-199_'`, 12],
  ])('the index finds the matches of %s without reading other documents', async (where, matches) => {
    expect(await find(where)).toHaveLength(matches);
    const plan = await explainVisibleMatches(database.sql, scope(where), 500);
    expect(plan).toContain('Bitmap Index Scan on documents_by_term');
    expect(plan).not.toContain('Seq Scan');
    const rowsRead = /Bitmap Index Scan on documents_by_term .* rows=([0-9.]+) loops=1\)/.exec(plan)?.[1];
    expect(Number(rowsRead)).toBeLessThanOrEqual(matches + 2);
  });

  it.each([
    `rank > 1990`,
    `ticket LIKE '%-77'`,
    `ticket IS NULL`,
    `language = 'en' OR rank < 3`,
    `created_at > '2026'`,
  ])('the condition %s is evaluated without the index', async (where) => {
    const found = await find(where);
    expect(found.length).toBeGreaterThan(0);
    expect(await explainVisibleMatches(database.sql, scope(where), 500)).not.toContain('documents_by_term');
  });
});

it('the first of many matches are found in order of their ids', async () => {
  const ids = (await selectVisibleMatches(database.sql, scope(`language = 'en'`), 5)).map(({ id }) => id);
  expect(ids).toEqual((await find(`language = 'en'`)).map(({ id }) => id).slice(0, 5));
  expect(ids).toEqual(ids.toSorted());
});

it('a query by a condition leaves no prepared statement', async () => {
  await find(`ticket = 'T-1' AND rank = 1`);
  const kept = await database.sql`SELECT 1 FROM pg_prepared_statements WHERE statement LIKE ${'%->>%'}`;
  expect(kept).toHaveLength(0);
});

describe('hostile text', () => {
  const HOSTILE = [
    ...[
      "' OR '1'='1",
      "'; DROP TABLE documents; --",
      "x'); DELETE FROM documents; --",
      '$1',
      '$$; SELECT 1; $$',
      '\\',
      "\\'",
    ],
    ...[
      "' | 'a",
      "a':*",
      "a' & !'b",
      "'|''",
      '{a,b}',
      '{"a":"b"}',
      'NULL',
      '%',
      '/*',
      '*/ OR true',
      '\u2019 OR \u20191\u2019=\u20191',
    ],
    ...[
      '＇; DROP TABLE documents; --',
      '\u02bc OR 1=1',
      "E'\\x27'",
      "U&'\\0027'",
      'pg_sleep(10)',
      '(SELECT 1)',
      '::tsquery',
    ],
  ];
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

  it.each(HOSTILE)('hostile text is a plain value: %s', async (text) => {
    const before = await fingerprint(database.sql);
    for (const where of [
      `ticket = ${quoted(text)}`,
      `file_name IN (${quoted(text)}, 'none')`,
      `id = ${quoted(text)} OR privacy_level = ${quoted(text)} OR created_at > ${quoted(`9${text}`)}`,
      `status LIKE ${quoted(`${text.replace(/[\\%_]/g, '\\$&')}%`)}`,
      `searchable > ${quoted(`u${text}`)} AND ticket IS NOT NULL`,
    ]) {
      expect(await find(where), where).toEqual([]);
    }
    expect(await find(`NOT ticket = ${quoted(text)} AND ticket = 'T-5'`)).toHaveLength(1);
    expect(await fingerprint(database.sql)).toBe(before);
  });

  it.each(HOSTILE)('hostile text is no key: %s', (text) => {
    const key = `"${text.replaceAll('"', '""')}"`;
    // Words of letters are keys like any other.
    if (/^[A-Za-z]+$/.test(text)) return;
    expect(() => parseStatement(`SELECT documents WHERE ${key} = 1`)).toThrow('expected a user key');
    expect(() => parseStatement(`UPDATE documents SET ${key} = 1 WHERE a = 1`)).toThrow('expected a user key');
  });

  it.each(HOSTILE)('hostile text is no syntax outside of quotes: %s', (text) => {
    expect(() => parseStatement(`SELECT documents WHERE ticket = ${text}`.replace(/= NULL$/, '= NUL'))).toThrow(
      'line 1, column',
    );
  });
});
