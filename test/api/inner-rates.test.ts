import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, deliver, fillBucket, freshUser, PATIENT, textOf } from '../support/channels.ts';

// Work that does not arrive as a request of its own counts like the request that would do the same.

const RATE = 2;
let api: TestApi;
beforeAll(async () => {
  const requests_per_minute = { search: RATE, embed: RATE, upload: RATE };
  api = await openTestApi({
    settings: { ...PATIENT, plans: { free: { requests_per_minute }, enterprise: { requests_per_minute } } },
  });
});
afterAll(() => api.close());

const question = { query: 'pump', mode: 'keyword' };
const SCOPES = ['workflows:run', 'workflows:manage', 'workflows:approve', 'search', 'embed'] as const;

/** Make a key of an organization of its own, with a bucket. */
async function organization(org: string): Promise<string> {
  const key = await api.key({ org, scopes: [...SCOPES, 'documents:write', 'buckets:manage'] });
  expect((await api.call('POST', '/v1/buckets', { key, json: { name: 'docs' } })).status).toBe(201);
  return key;
}

it.each([
  ['search', { type: 'search', with: { bucket: 'docs', ...question } }, 'search'],
  ['memory_search', { type: 'memory_search', with: { bucket: 'docs', query: 'pump' } }, 'search'],
  ['embed', { type: 'embed', with: { texts: 'one text' } }, 'embed'],
  ['upload_document', { type: 'upload_document', with: { bucket: 'docs', filename: 'a.txt', text: 'a' } }, 'upload'],
])('a block of type %s takes one request of the rate of its organization', async (name, block, axis) => {
  const key = await organization(`blocks-${name}`);
  const definition = { blocks: Array.from({ length: RATE + 1 }, (_, n) => ({ id: `b${n}`, ...block })) };
  const created = await api.call('POST', '/v1/workflows', { key, json: { name: 'w', definition } });
  expect(created.status).toBe(201);
  await api.call('POST', '/v1/workflows/w/publish', { key });
  const approvals = Object.fromEntries(definition.blocks.map(({ id }) => [id, true]));
  const ran = await api.call('POST', '/v1/workflows/w/run', { key, json: { inputs: {}, mode: 'live', approvals } });
  expect(ran.body.blocks.map((result: { status: string }) => result.status)).toEqual([
    'completed',
    'completed',
    'failed',
  ]);
  expect(ran.body.blocks[RATE].error).toContain(`more than ${RATE} requests a minute were sent on the axis "${axis}"`);
  if (axis !== 'search') return;
  const asked = await api.call('POST', '/v2/buckets/docs/search', { key, json: question });
  expect(asked.status).toBe(429);
});

it('a delivery that is searched for takes one request for a search, and is told to try again later', async () => {
  const key = await api.key({ scopes: ['channels:manage', 'search'] });
  await fillBucket(api, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
  await createConfig(api, key);
  const ask = async () =>
    textOf(await deliver(api, { utterance: 'how often is the pump greased?', user_id: freshUser() }));
  for (let n = 0; n < RATE; n++) expect(await ask()).toContain('greased every three months');
  expect(await ask()).not.toContain('greased every three months');
  expect((await api.call('POST', '/v2/buckets/default/search', { key, json: question })).status).toBe(429);
});
