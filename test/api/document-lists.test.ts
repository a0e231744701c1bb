import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
let key: string;
let low: string;

/** Documents in the order of their upload: name, folder, size and privacy level. */
const DOCUMENTS = [
  ['Ferry.md', 'port/ferries', 40, 1],
  ['crane.txt', 'port/cranes', 10, 1],
  ['Secret.txt', 'port/cranes', 30, 9],
  ['anchor.md', 'port', 20, 1],
  ['crane plan.md', null, 10, 1],
] as const;

beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['documents:write'], authLevel: 10 });
  low = await test.key({ scopes: ['documents:write'], authLevel: 5 });
  for (const [filename, folder, size, level] of DOCUMENTS) {
    const json = {
      ...{ filename, text: filename.padEnd(size, '.'), privacy_level: level },
      ...(folder === null ? {} : { source_path: `${folder}/${filename}` }),
    };
    expect((await test.call('POST', '/v1/buckets/default/documents', { key, json })).status).toBe(202);
  }
  const { sql } = test.appliance;
  await sql`UPDATE documents SET file_type = CASE WHEN file_name LIKE '%.md' THEN 'md' ELSE 'txt' END`;
});
afterAll(() => test.close());

/** Names of all documents of a query, read two at a time. */
async function namesOf(query: Record<string, string>, by = key): Promise<string[]> {
  const names: string[] = [];
  let cursor = '';
  do {
    const path = `/v1/buckets/default/documents?${new URLSearchParams({ ...query, limit: '2', cursor })}`;
    const { status, body } = await test.call('GET', path, { key: by });
    expect(status).toBe(200);
    names.push(...body.data.map(({ file_name: name }: { file_name: string }) => name));
    cursor = body.next_cursor ?? '';
  } while (cursor !== '');
  return names;
}

it('documents are listed by name, size and upload, in both directions, a page at a time', async () => {
  const uploaded = DOCUMENTS.map(([name]) => name);
  expect(await namesOf({})).toEqual(uploaded.toReversed());
  expect(await namesOf({ order: 'asc' })).toEqual(uploaded);
  const byName = ['anchor.md', 'crane plan.md', 'crane.txt', 'Ferry.md', 'Secret.txt'];
  expect(await namesOf({ sort: 'name', order: 'asc' })).toEqual(byName);
  expect(await namesOf({ sort: 'name' })).toEqual(byName.toReversed());
  const bySize = ['crane.txt', 'crane plan.md', 'anchor.md', 'Secret.txt', 'Ferry.md'];
  expect((await namesOf({ sort: 'size', order: 'asc' })).slice(2)).toEqual(bySize.slice(2));
  expect(await namesOf({ sort: 'changed', order: 'asc' })).toHaveLength(5);
});

it('documents are found by a part of their name or path, by format and by folder', async () => {
  expect(await namesOf({ name: 'CRANE' })).toEqual(['crane plan.md', 'Secret.txt', 'crane.txt']);
  expect(await namesOf({ name: 'crane' }, low)).toEqual(['crane plan.md', 'crane.txt']);
  expect(await namesOf({ type: 'md', sort: 'name', order: 'asc' })).toEqual(['anchor.md', 'crane plan.md', 'Ferry.md']);
  expect(await namesOf({ folder: 'port/cranes' }, low)).toEqual(['crane.txt']);
  expect(await namesOf({ name: '%' })).toEqual([]);
});

it('folders and formats of a bucket are counted, without documents that the caller may not see', async () => {
  const read = async (query: string, by: string) =>
    (await test.call('GET', `/v1/buckets/default/contents${query}`, { key: by })).body;
  expect(await read('', key)).toMatchObject({
    folders: [{ name: 'port', documents: 4 }],
    types: [
      { type: 'md', documents: 3 },
      { type: 'txt', documents: 2 },
    ],
  });
  expect((await read('?folder=port', low)).folders).toEqual([
    { name: 'cranes', documents: 1 },
    { name: 'ferries', documents: 1 },
  ]);
});

it('documents of all buckets of the organization are found by name', async () => {
  const find = async (by: string) => (await test.call('GET', '/v1/documents?name=crane', { key: by })).body.data;
  expect((await find(key)).map(({ file_name: name }: { file_name: string }) => name)).toEqual([
    ...['crane plan.md', 'Secret.txt', 'crane.txt'],
  ]);
  expect(await find(low)).toHaveLength(2);
  expect(await find(await test.key({ org: 'other', authLevel: 10 }))).toEqual([]);
});

it.each([
  ['a cursor that is none', 'cursor=abc'],
  ['a cursor of another order', 'sort=name&cursor=doc_00000000000000000000000000'],
  ['a made-up value in a cursor', `sort=size&cursor=${Buffer.from('["size","x","doc_1"]').toString('base64url')}`],
  ['an unknown order', 'sort=colour'],
])('%s is refused', async (_, query) => {
  expect((await test.call('GET', `/v1/buckets/default/documents?${query}`, { key })).status).toBe(400);
});
