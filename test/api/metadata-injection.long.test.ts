import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fingerprint } from '../metadata/sample.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

// Tests that hostile text stays text: every key, value, pattern and comment does only what the grammar says.
let test: TestApi;
let key: string;
const DOCUMENTS = '/v1/buckets/default/documents';
/** Ids of documents, by the value of `note` in their metadata. */
const ids = new Map<string, string>();

/** Texts with a meaning in SQL, PostgreSQL, tsquery, LIKE, JSON paths or templates. */
const TEXTS = [
  ...["'", "''", "'''", '"', '""', '\\', '\\\\', "\\'", "'; DROP TABLE documents; --", "' OR '1'='1", "') OR TRUE --"],
  ...["' UNION SELECT id, sha256 FROM documents --", "E'\\x27'", 'U&\\0027', '$$x$$', '$1', '$2::text', '$\x7bnote}'],
  ...['%', '_', '%%', '\\%', 'a%', '100%', '{{inputs.x}}', '{"a":1}', '$.note', 'note=x', '".note=', "'x':*", 'a & !b'],
  ...[
    '(a|b)',
    '--',
    '/*',
    '*/',
    '/* x */',
    '#',
    ';',
    '; SELECT 1',
    'NULL',
    'null',
    'TRUE',
    '1 OR 1=1',
    '1e999',
    '0x27',
  ],
  ...[
    'ʼ',
    '＇',
    '’',
    '′',
    '‘; DROP TABLE documents',
    'ＯＲ １＝１',
    'ОR 1=1',
    '\u202e;eslaf',
    '\u200b',
    '\ufeff',
    '\u2028',
  ],
  ...[
    '한국어',
    '👩‍👩‍👧',
    'é',
    'x\u0301',
    'ß',
    'İ',
    ' x ',
    '',
    '\u00a0',
    "x' AND org_id <> '",
    'COPY documents TO PROGRAM',
  ],
];

beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['buckets:manage', 'documents:write'], authLevel: 10 });
  for (const [at, note] of TEXTS.entries()) {
    const json = { filename: 'a.txt', text: `Text ${at}.`, metadata: { note, at } };
    const { status, body } = await test.call('POST', DOCUMENTS, { key, json });
    expect([note, status]).toEqual([note, 202]);
    ids.set(note, body.id);
  }
  const foreign = await test.key({ org: 'other' });
  const json = { filename: 'b.txt', text: 'Theirs.', metadata: { note: "' OR '1'='1", theirs: 1 } };
  expect((await test.call('POST', DOCUMENTS, { key: foreign, json })).status).toBe(202);
});
afterAll(() => test.close());

const bulk = (json: unknown) => test.call('PATCH', `${DOCUMENTS}/metadata/bulk`, { key, json });
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const idOf = (text: string) => ids.get(text) as string;

async function matchesOf(json: object): Promise<string[]> {
  const { status, body } = await bulk(json);
  expect([json, status, body.detail]).toEqual([json, 200, undefined]);
  return body.items.map((item: { id: string }) => item.id);
}

describe.each(TEXTS.map((text) => [text] as const))('%j', (text) => {
  const own = () => [idOf(text)];

  it('a hostile text as a value finds the documents that have it, in every position', async () => {
    const before = await fingerprint(test.appliance.sql);
    expect(await matchesOf({ statement: `SELECT documents WHERE note = ${quoted(text)}` })).toEqual(own());
    expect(await matchesOf({ statement: `SELECT documents WHERE note IN ('none', ${quoted(text)})` })).toEqual(own());
    const others = await matchesOf({ statement: `SELECT documents WHERE NOT note = ${quoted(text)} LIMIT 2000` });
    expect(others).toHaveLength(TEXTS.length - 1);
    expect(await matchesOf({ where: { note: text }, dry_run: true })).toEqual(own());
    for (const field of ['id', 'file_name', 'scope', 'status', 'created_at', 'privacy_level']) {
      expect(await matchesOf({ statement: `SELECT documents WHERE ${field} = ${quoted(text)}` })).toEqual([]);
    }
    for (const order of ['<', '<=', '>', '>=', '<>']) {
      const found = await matchesOf({ statement: `SELECT documents WHERE note ${order} ${quoted(text)}` });
      expect([order, found.includes(idOf(text))]).toEqual([order, order.length === 2 && order !== '<>']);
    }
    expect(await fingerprint(test.appliance.sql)).toBe(before);
  });

  it('a hostile text as an escaped pattern finds the documents that have it', async () => {
    const pattern = text.replace(/[\\%_]/g, '\\$&');
    expect(await matchesOf({ statement: `SELECT documents WHERE note LIKE ${quoted(pattern)}` })).toEqual(own());
    const starting = TEXTS.filter((other) => other.startsWith(text)).map(idOf);
    const found = await matchesOf({ statement: `SELECT documents WHERE note LIKE ${quoted(`${pattern}%`)}` });
    expect(found.toSorted()).toEqual(starting.toSorted());
  });

  it('a hostile text as an unescaped pattern is a pattern or refused', async () => {
    const { status, body } = await bulk({ statement: `SELECT documents WHERE note LIKE ${quoted(text)}` });
    expect(status).toBe(/(?<!\\)(?:\\\\)*\\$/.test(text) ? 400 : 200);
    // A text without wildcards and escapes matches itself.
    if (!/[\\%_]/.test(text)) expect(body.items.map((item: { id: string }) => item.id)).toEqual(own());
  });

  it('a hostile text is stored unchanged, by SET and by fields', async () => {
    const id = idOf(text);
    const statement = `UPDATE documents SET copy = ${quoted(text)} WHERE id = '${id}'`;
    expect((await bulk({ statement, reindex: false })).body).toMatchObject({ updated: 1 });
    expect((await bulk({ where: { id }, metadata: { second: text }, reindex: false })).body).toMatchObject({
      updated: 1,
    });
    const { body } = await test.call('GET', `${DOCUMENTS}/${id}`, { key });
    expect(body.metadata).toMatchObject({ note: text, copy: text, second: text });
    const [row] = await test.appliance.sql`SELECT count(*)::int AS n FROM documents WHERE metadata ? 'copy'`;
    expect(await matchesOf({ statement: 'SELECT documents WHERE copy IS NOT NULL LIMIT 2000' })).toHaveLength(
      row?.['n'],
    );
    expect(
      (await bulk({ statement: `UPDATE documents SET copy = NULL WHERE copy = ${quoted(text)}` })).body,
    ).toMatchObject({
      updated: 1,
    });
  });

  it('a hostile text as a key is a key or refused', async () => {
    const before = await fingerprint(test.appliance.sql);
    const written = `"${text.replaceAll('"', '""')}"`;
    const isKey = /^[A-Za-z0-9_.-]+$/.test(text);
    for (const body of [
      { statement: `SELECT documents WHERE ${written} = 'x'` },
      { statement: `UPDATE documents SET ${written} = 'x' WHERE note = 'none of them'` },
      { where: { [text]: 'x' }, metadata: { a: 1 } },
      { where: { note: 'none of them' }, metadata: { [text]: 'x' } },
    ]) {
      const { status, body: reply } = await bulk(body);
      expect([body, status, reply.matched ?? reply]).toEqual([
        body,
        isKey ? 200 : 400,
        isKey ? 0 : { detail: expect.any(String) },
      ]);
    }
    expect(await fingerprint(test.appliance.sql)).toBe(before);
  });

  it('a hostile text as a part of a statement is refused, or changes nothing', async () => {
    const before = await fingerprint(test.appliance.sql);
    for (const statement of [
      text,
      `${text}SELECT documents`,
      `SELECT documents ${text}`,
      `SELECT documents WHERE note = ${text}`,
      `SELECT documents WHERE note = 'x' ${text}`,
      `SELECT documents WHERE note = 'x' ${text} OR id > ''`,
      `SELECT documents; ${text}`,
      `UPDATE documents SET a = 'x' WHERE note = 'none' ${text}`,
      `UPDATE documents SET a = '${text}' WHERE note = 'none of them'`,
      `UPDATE ${text} documents SET a = 1 WHERE note = 'none of them'`,
    ]) {
      const { status, body } = await bulk({ statement });
      expect([200, 400]).toContain(status);
      if (status === 400) expect(body).toEqual({ detail: expect.any(String) });
    }
    expect(await fingerprint(test.appliance.sql)).toBe(before);
  });
});

it.each([
  'SELECT documents -- WHERE',
  'SELECT documents # x',
  'SELECT/**/documents',
  "SELECT documents WHERE note = 'x' /* or */ OR 1 = 1",
  'ЅELECT documents',
  'SELECT dоcuments',
  'SELECT　documents',
  "SELECT documents WHERE note ＝ 'x'",
  'SELECT documents WHERE note = ’x’',
  'SELECT documents WHERE note = "x"',
  "SELECT documents WHERE 'note' = 'x'",
  'SELECT documents WHERE 1 = 1',
  "SELECT documents WHERE note = 'a' || 'b'",
  "SELECT documents WHERE lower(note) = 'x'",
  "SELECT documents WHERE note = (SELECT 'x')",
  'SELECT documents WHERE note = pg_sleep(10)',
  'SELECT documents WHERE note::text = 1',
  "SELECT documents WHERE note SIMILAR TO '%'",
  "SELECT documents WHERE note ~ '(a+)+$'",
  "SELECT documents WHERE note LIKE 'x' ESCAPE '!'",
  "SELECT documents WHERE note = E'\\x27'",
  'SELECT documents WHERE note = $1',
  'SELECT documents WHERE documents.org_id = 1 ORDER BY id',
  'SELECT * FROM documents',
  'SELECT documents FROM documents',
  'SELECT documents, api_keys',
  "SELECT documents; UPDATE documents SET a = 1 WHERE id > ''",
  "UPDATE documents SET a = a WHERE id > ''",
  "UPDATE documents SET metadata = '{}' , org_id = 'x' , a WHERE id > ''",
  "UPDATE public.documents SET a = 1 WHERE id > ''",
  'SELECT documents\u0000',
  "SELECT documents WHERE note = 'x\u0000'",
  'SELECT documents LIMIT 1 OFFSET 2',
  'SELECT documents LIMIT ALL',
  "TRUNCATE documents; SELECT documents WHERE a = 'x'",
])('a statement outside the grammar is refused: %j', async (statement) => {
  const before = await fingerprint(test.appliance.sql);
  const { status, body } = await bulk({ statement });
  expect([status, body]).toEqual([400, { detail: expect.stringMatching(/^line 1, column \d+: found /) }]);
  expect(await fingerprint(test.appliance.sql)).toBe(before);
});

it("a statement never finds another organization's documents", async () => {
  const { body } = await bulk({ statement: "SELECT documents WHERE id > '' OR id IS NULL OR NOT id = 'x' LIMIT 2000" });
  expect(body.matched).toBe(TEXTS.length);
  expect(await matchesOf({ statement: 'SELECT documents WHERE theirs = 1' })).toEqual([]);
});
