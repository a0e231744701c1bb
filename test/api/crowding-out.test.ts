import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';
import { waitingBackends } from '../support/waiting-backends.ts';

let api: TestApi;
let greedy: string;
let modest: string;
let serial = 0;

beforeAll(async () => {
  api = await openTestApi({
    worker: false,
    settings: { plans: { free: { requests_per_minute: { search: 3 } } } },
  });
  greedy = await api.key({ org: 'greedy', scopes: ['buckets:manage'] });
  modest = await api.key({ org: 'modest' });
});
afterAll(() => api.close());

const search = (key: string, json: object) => api.call('POST', '/v2/buckets/default/search', { key, json });

test('an organization whose requests all wait in the database leaves connections to the others', async () => {
  const { sql } = api.appliance;
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const [row] = await sql`
    SELECT id FROM buckets WHERE name = 'default' AND org_id = (SELECT id FROM organizations WHERE name = 'greedy')`;
  const holding = sql.begin(async (tx) => {
    await tx`SELECT 1 FROM buckets WHERE id = ${row?.['id']} FOR UPDATE`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const edits = Array.from({ length: 30 }, () =>
    api.call('PATCH', `/v1/buckets/${row?.['id']}`, { key: greedy, json: { policy: { max_privacy_level: 9 } } }),
  );
  await until(async () => (await waitingBackends(sql)).length >= 3);
  expect((await api.call('GET', '/v1/buckets', { key: modest })).status).toBe(200);
  expect((await search(modest, { query: 'x', filter: { a: 'b' } })).status).toBe(200);
  expect((await api.call('GET', '/v1/buckets/default/documents', { key: modest })).status).toBe(200);
  release.resolve();
  await holding;
  for (const { status } of await Promise.all(edits)) expect(status).toBe(200);
});

const condition = (n: number) => ({ type: 'eq', key: `k${n}`, value: 'v' });
const nested = (depth: number): object =>
  depth === 1 ? condition(1) : { type: depth % 2 ? 'and' : 'or', filters: [nested(depth - 1)] };

test.each<[string, object, string]>([
  ['51 keys', Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'v'])), '50 conditions'],
  ['2,000 keys', Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`k${n}`, 1])), '50 conditions'],
  [
    '51 conditions in two groups',
    {
      type: 'or',
      filters: [0, 1].map((group) => ({
        type: 'or',
        filters: Array.from({ length: 25 + group }, (_, n) => condition(n)),
      })),
    },
    '50 conditions',
  ],
  ['1,001 values in two lists', { a: new Array(500).fill(1), b: new Array(501).fill(1) }, '1,000 values'],
  ['21 levels', nested(21), '20 levels'],
  ['30 levels', nested(30), '20 levels'],
])('a filter of %s is refused before it reaches the database', async (_, filter, bound) => {
  const key = await api.key({ org: `filters-${++serial}` });
  const { status, body } = await search(key, { query: 'x', filter });
  expect([status, body.detail]).toEqual([400, expect.stringContaining(bound)]);
});

test('a filter of 50 conditions, 1,000 values and 20 levels is accepted', async () => {
  const key = await api.key({ org: 'filters' });
  const filters = [nested(19), { type: 'in', key: 'b', value: new Array(951).fill('v') }];
  for (let n = 0; n < 48; n++) filters.push(condition(n));
  expect((await search(key, { query: 'x', filter: { type: 'and', filters } })).status).toBe(200);
});

test('searches have a request rate of the plan', async () => {
  const key = await api.key({ org: 'hurried' });
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await search(key, { query: 'x' })).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  const other = await api.call('POST', '/v1/vector_stores/default/search', { key, json: { query: 'x' } });
  expect([other.status, other.headers.get('ratelimit-limit')]).toEqual([429, '3']);
  const overSeveral = await api.call('POST', '/v1/memory/search', { key, json: { query: 'x', buckets: ['default'] } });
  expect([overSeveral.status, overSeveral.headers.get('ratelimit-limit')]).toEqual([429, '3']);
});

test('a text of one organization is sent to a vendor after one call of another that has many waiting', async () => {
  const upstream = await FakeUpstream.start({ dimensions: 1536, apiKeys: ['k'] });
  const vendor = { protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: 'k', timeout_seconds: 60 };
  const narrow = await openTestApi({
    worker: false,
    settings: {
      providers: { 'vendor-a': { ...vendor, concurrency_max: 1, items_max: 1 } },
      embeddings: { deadline_seconds: 60 },
    },
  });
  try {
    const many = await narrow.key({ org: 'greedy', scopes: ['embed'] });
    const one = await narrow.key({ org: 'modest', scopes: ['embed'] });
    const model = 'vendor-a/text-embedding-3-small';
    const embed = (key: string, input: string) =>
      narrow.call('POST', '/v1/embeddings', { key, json: { input, model } });
    const isQueued = async (texts: number) =>
      (await narrow.call('GET', '/metrics')).body.includes(`queued_texts{provider="vendor-a"} ${texts}\n`);
    upstream.next({ kind: 'stall' });
    const gone = new AbortController();
    const stalled = fetch(`${narrow.api.url}/v1/embeddings`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${many}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: 'stalled', model }),
      signal: gone.signal,
    }).catch(() => null);
    await until(async () => upstream.calls.length === 1);
    const replies = Array.from({ length: 9 }, (_, at) => embed(many, `text ${at}`));
    await until(() => isQueued(9));
    replies.push(embed(one, 'another text'));
    await until(() => isQueued(10));
    gone.abort();
    await stalled;
    for (const { status } of await Promise.all(replies)) expect(status).toBe(200);
    expect(upstream.calls.map(({ texts }) => texts[0]).indexOf('another text')).toBe(2);
  } finally {
    await narrow.close();
    await upstream.close();
  }
});
