import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Caller } from '../../../src/access/caller.ts';
import { createBucket } from '../../../src/documents/buckets.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { parseStatement } from '../../../src/metadata/statement/parser.ts';
import { selectVisibleMatches } from '../../../src/metadata/store.ts';
import { readAllFacts } from '../../../src/search/documents/copy-store.ts';
import { findLiveDocuments, listLiveDocumentIds } from '../../../src/search/documents/document-store.ts';
import { Filter } from '../../../src/search/filter/filter.ts';
import { isOfCommonShape } from '../../../src/search/filter/filter-sql.ts';
import { matcherOf } from '../../../src/search/filter/match-filter.ts';
import { makeKeyRing, makeOrg } from '../../support/access.ts';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts';
import { createTestRandom } from '../../support/random.ts';

type Fields = Readonly<Record<string, string>>;

const random = createTestRandom('filters');
const VALUES = ['x', 'y', 'z', '7', '8.5', '-1', '10', '', 'a"b', '\\', '{}', '__proto__', '만조'];
const KEYS = ['a', 'b', 'c', '__proto__', 'k"', 'file_name', 'file_type'];
/** Parts of the values, and characters with a meaning in patterns. */
const PARTS = ['x', '.', '-', '%', '_', '\\', '"', '조', 'a"b', '5'];
const TEXT_TYPES = new Set(['contains', 'ncontains', 'starts_with', 'ends_with']);
const COLUMNS = new Set(['file_name', 'file_type']);

let database: TestDatabase;
let operator: Caller;
let bucketId: string;
const documents = new Map<string, Fields>();
beforeAll(async () => {
  database = await createTestDatabase();
  const { sql } = database;
  ({ operator } = await makeOrg(sql, makeKeyRing()));
  bucketId = (await createBucket(sql, operator, { name: 'notes', policy: BucketPolicy.parse({}) })).id;
  for (let nth = 0; nth < 60; nth++) {
    const keys = KEYS.filter((key) => COLUMNS.has(key) || random.real() < 0.6);
    const fields: Fields = Object.fromEntries(keys.map((key) => [key, random.pick(VALUES)]));
    documents.set(`doc_${nth}`, fields);
    const metadata = Object.fromEntries(Object.entries(fields).filter(([key]) => !COLUMNS.has(key)));
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                             status, active_generation, metadata)
      VALUES (${`doc_${nth}`}, ${operator.orgId}, ${bucketId}, ${fields['file_name'] as string},
              ${fields['file_type'] as string}, 1, '\\x00', 'k', '{}', 'ready', ${nth + 1}, ${sql.json(metadata)})`;
  }
});
afterAll(() => database.drop());

/** Draw a filter of random conditions in OpenAI's shape. */
function drawFilter(depth: number): object {
  const type = random.pick([
    ...(['eq', 'eq', 'eq', 'in', 'nin', 'ne', 'gt', 'lte', 'and', 'or', 'or', 'and'] as const),
    ...(['contains', 'ncontains', 'starts_with', 'ends_with', 'exists', 'missing'] as const),
  ]);
  if (depth > 0 && (type === 'and' || type === 'or')) {
    return { type, filters: Array.from({ length: 1 + random.int(4) }, () => drawFilter(depth - 1)) };
  }
  const key = random.pick(KEYS);
  if (type === 'in' || type === 'nin')
    return { type, key, value: [random.pick(VALUES), random.pick(VALUES), random.pick(VALUES)] };
  if (type === 'exists' || type === 'missing') return { type, key };
  if (TEXT_TYPES.has(type)) return { type, key, value: random.pick(PARTS) };
  if (type === 'and' || type === 'or') return { type: 'eq', key, value: random.pick(VALUES) };
  return {
    type,
    key,
    value: type === 'gt' || type === 'lte' ? random.pick([7, 8.5, 'x']) : random.pick([...VALUES, 7, 10]),
  };
}

/** Return true if a filter selects a document with these fields. */
function matches(filter: Filter, fields: Fields): boolean {
  if ('filters' in filter) {
    const test = (part: Filter) => matches(part, fields);
    return filter.type === 'and' ? filter.filters.every(test) : filter.filters.some(test);
  }
  const found = Object.hasOwn(fields, filter.key) ? fields[filter.key] : undefined;
  if (filter.type === 'exists') return found !== undefined && found !== '';
  if (filter.type === 'missing') return found === undefined || found === '';
  if (filter.type === 'contains') return found?.includes(filter.value) === true;
  if (filter.type === 'ncontains') return found?.includes(filter.value) === false;
  if (filter.type === 'starts_with') return found?.startsWith(filter.value) === true;
  if (filter.type === 'ends_with') return found?.endsWith(filter.value) === true;
  if (filter.type === 'in') return found !== undefined && filter.value.map(String).includes(found);
  if (filter.type === 'nin') return found !== undefined && !filter.value.map(String).includes(found);
  if (filter.type === 'eq') return found === String(filter.value);
  if (filter.type === 'ne') return found !== undefined && found !== String(filter.value);
  if (found === undefined || !('value' in filter)) return false;
  const isNumeric = typeof filter.value === 'number' && /^-?[0-9]+(\.[0-9]+)?$/.test(found);
  const order = isNumeric
    ? Number(found) - Number(filter.value)
    : Buffer.compare(Buffer.from(found), Buffer.from(String(filter.value)));
  return filter.type === 'gt' ? order > 0 : order <= 0;
}

/** Find the documents of a filter in all ways: PostgreSQL lists and checks them, and they are matched in memory. */
async function select(filter: Filter): Promise<{ listed: string[]; checked: string[]; matched: string[] }> {
  const { sql } = database;
  const scope = { bucketIds: [bucketId], collectionId: null, filter };
  const listed = await listLiveDocumentIds(sql, operator, scope, 1_000);
  const checked = await findLiveDocuments(sql, operator, scope, [...documents.keys()]);
  const all = await readAllFacts(sql, operator.orgId, bucketId, 1_000);
  const matched = all?.documents.filter(matcherOf(filter)).map(({ id }) => id) ?? [];
  return { listed: listed?.toSorted() ?? [], checked: [...checked.keys()].toSorted(), matched: matched.toSorted() };
}

it('random filters list and find exactly the documents that they describe', async () => {
  let selected = 0;
  for (let nth = 0; nth < 300; nth++) {
    const filter = Filter.parse(drawFilter(3));
    const expected = [...documents].filter(([, fields]) => matches(filter, fields)).map(([id]) => id);
    expect([filter, await select(filter)]).toEqual([
      filter,
      { listed: expected.toSorted(), checked: expected.toSorted(), matched: expected.toSorted() },
    ]);
    if (expected.length > 0 && expected.length < documents.size) selected++;
  }
  expect(selected).toBeGreaterThan(100);
});

const equal = (key: string, value: string) => ({ type: 'eq', key, value });

it.each([
  [{ a: 'x' }, true],
  [{ a: ['x', 'y'] }, true],
  [{ a: 'x', b: 'y' }, true],
  [{ type: 'or', filters: Array.from({ length: 50 }, (_, nth) => equal(`k${nth}`, 'v')) }, true],
  [{ type: 'or', filters: [equal('a', 'x'), { type: 'or', filters: [equal('b', 'y')] }] }, true],
  [{ type: 'and', filters: [equal('a', 'x'), equal('a', 'x')] }, true],
  [{ type: 'and', filters: [equal('a', 'x'), equal('a', 'y')] }, false],
  [{ a: 'x', b: ['y', 'z'] }, false],
  [{ type: 'or', filters: [equal('a', 'x'), equal('file_name', 'y')] }, false],
  [{ type: 'ne', key: 'a', value: 'x' }, false],
  [{ file_name: 'x' }, false],
])('the filter %j is one condition of equality on the metadata: %s', (filter, expected) => {
  expect(isOfCommonShape(Filter.parse(filter))).toBe(expected);
});

it('documents are compared in memory as PostgreSQL compares numbers of any length and characters of any plane', async () => {
  const { sql } = database;
  const texts = [
    ...[
      '9007199254740993',
      '9007199254740992',
      '-9007199254740993',
      '0.1',
      '0.10000000000000001',
      '0.30000000000000004',
    ],
    ...[
      '1e3',
      '1E-3',
      '1000',
      '001000',
      '+5',
      '5.',
      '.5',
      '٣',
      '１',
      ' 1',
      '1e100',
      '12345678901234567890e-15',
      '-0',
      '',
    ],
    ...['\u{1F600}', '\uE000', '\uFFFD', 'a', 'A', 'é', '가', 'true'],
  ];
  const { id: ordered } = await createBucket(sql, operator, { name: 'ordered', policy: BucketPolicy.parse({}) });
  for (const [nth, text] of texts.entries()) {
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                             active_generation, metadata)
      VALUES (${`ordered_${nth}`}, ${operator.orgId}, ${ordered}, 'f', 1, '\\x00', 'k', '{}', 'ready', 1,
              ${sql.json({ value: text })})`;
  }
  const all = await readAllFacts(sql, operator.orgId, ordered, 1_000);
  const values = [0, -0, 1, 5, 1000, 0.1, 0.3, 0.30000000000000004, 2 ** 53 - 1, 12345.678901234567, ...texts, true];
  for (const type of ['gt', 'gte', 'lt', 'lte', 'eq', 'ne']) {
    for (const value of values) {
      const filter = Filter.parse({ type, key: 'value', value });
      const listed = await listLiveDocumentIds(
        sql,
        operator,
        { bucketIds: [ordered], collectionId: null, filter },
        1_000,
      );
      const matched = all?.documents.filter(matcherOf(filter)).map(({ id }) => id);
      expect([type, value, matched?.toSorted()]).toEqual([type, value, listed?.toSorted()]);
    }
  }
});

it('a filter and a statement with the same comparison select the same documents', async () => {
  const { sql } = database;
  const { id: compared } = await createBucket(sql, operator, { name: 'compared', policy: BucketPolicy.parse({}) });
  const metadata = [
    ...['9.5', '10', 'v10', '2024-01-05', '9', '-3', '1e3', '', 'true'].map((depth) => ({ depth })),
    ...[{ team: 'a' }, { team: 'b' }, {}],
  ];
  for (const [nth, fields] of metadata.entries()) {
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                             active_generation, metadata)
      VALUES (${`compared_${nth}`}, ${operator.orgId}, ${compared}, 'f', 1, '\\x00', 'k', '{}', 'ready', 1,
              ${sql.json(fields)})`;
  }
  const all = await readAllFacts(sql, operator.orgId, compared, 1_000);
  const selectBoth = async (shape: object, where: string) => {
    const filter = Filter.parse(shape);
    const scope = { bucketIds: [compared], collectionId: null, filter };
    const filtered = ((await listLiveDocumentIds(sql, operator, scope, 1_000)) ?? []).toSorted();
    const matched = all?.documents.filter(matcherOf(filter)).map(({ id }) => id) ?? [];
    const { where: condition } = parseStatement(`SELECT documents WHERE ${where}`);
    const selected = await selectVisibleMatches(sql, { caller: operator, bucketId: compared, where: condition }, 1_000);
    expect([where, matched.toSorted()]).toEqual([where, filtered]);
    expect([where, selected.map(({ id }) => id).toSorted()]).toEqual([where, filtered]);
    return filtered.map((id) => Number(id.replace('compared_', '')));
  };
  const signs = { gt: '>', gte: '>=', lt: '<', lte: '<=', eq: '=', ne: '!=' };
  for (const [type, sign] of Object.entries(signs)) {
    for (const key of ['depth', 'team', 'none']) {
      for (const value of [9, 10, -3, 0.5, 'v10', '9', 'a', true]) {
        const written = typeof value === 'string' ? `'${value}'` : String(value);
        await selectBoth({ type, key, value }, `${key} ${sign} ${written}`);
      }
      await selectBoth({ type: 'in', key, value: ['a', 10] }, `${key} IN ('a', 10)`);
      await selectBoth({ type: 'nin', key, value: ['a', 10] }, `${key} NOT IN ('a', 10)`);
    }
  }
  // Numbers by value, other texts by their characters; a missing key matches nothing.
  expect(await selectBoth({ type: 'gt', key: 'depth', value: 9 }, 'depth > 9')).toEqual([0, 1, 2, 6, 8]);
  expect(await selectBoth({ type: 'gte', key: 'depth', value: 10 }, 'depth >= 10')).toEqual([1, 2, 3, 6, 8]);
  expect(await selectBoth({ type: 'ne', key: 'team', value: 'a' }, "team != 'a'")).toEqual([10]);
});

it.each(['9007199254740992', '-9007199254740992', '9007199254740993', '1746714878034235397', '1e21'])(
  'the integer %s, which may be a rounded one, is refused in filters',
  (text) => {
    const value = Number(text);
    expect(() => Filter.parse({ ext: value })).toThrow('an integer beyond 2^53 as a string');
    expect(() => Filter.parse({ type: 'gt', key: 'ext', value })).toThrow('an integer beyond 2^53 as a string');
    expect(Filter.parse({ ext: text })).toMatchObject({ filters: [{ value: text }] });
  },
);
