import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { beginPatch } from './support.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ worker: false });
});
afterAll(() => api.close());

const isOfKeys = (access: string) => access === 'caller' || (SCOPES as readonly string[]).includes(access);

test('while an organization moves, these routes go on, and every other one that is not a GET answers 503', async () => {
  const key = await api.key({ scopes: [...SCOPES] });
  const routes = apiRoutes(api.appliance, () => {}).filter(
    ({ method, access }) => method !== 'GET' && isOfKeys(access),
  );
  const goOn = routes.filter(({ whileMoving }) => whileMoving === true).map(({ operationId }) => operationId);
  expect(goOn.toSorted()).toEqual([
    'answerQuestion',
    'createChatCompletion',
    'createEmbeddings',
    'embedBatch',
    'embedImages',
    'endAllSessions',
    'endSession',
    'previewMemorySource',
    'rerank',
    'rerankV2',
    'retrieveKnowledge',
    'searchBucket',
    'searchBuckets',
    'searchMemory',
    'searchVectorStore',
    'viewConsent',
  ]);
  await api.appliance.sql`UPDATE organizations SET move_state = 'moving' WHERE name = 'default'`;
  const bucket = () => api.call('DELETE', '/v1/buckets/default', { key });
  await expect.poll(async () => (await bucket()).status).toBe(503);
  for (const { method, path } of routes.filter(({ whileMoving }) => whileMoving !== true)) {
    const { status } = await api.call(method, path.replaceAll(/[:*]\w+/g, 'x'), { key });
    expect([method, path, status]).toEqual([method, path, 503]);
  }
});

test('a request whose body arrives after the move has begun is refused', async () => {
  const { sql } = api.appliance;
  await sql`UPDATE organizations SET move_state = NULL WHERE name = 'default'`;
  const key = await api.key({ scopes: [...SCOPES] });
  const json = { name: 'readers', members: [`key:${key.split('_')[1]}`] };
  await expect.poll(async () => (await api.call('POST', '/v1/groups', { key, json })).status).toBe(201);
  const slow = await beginPatch(api, key, '/v1/groups/readers');
  await sql`UPDATE organizations SET move_state = 'draining' WHERE name = 'default'`;
  await expect.poll(async () => (await api.call('DELETE', '/v1/buckets/default', { key })).status).toBe(503);
  expect(await slow.end({ remove: json.members })).toBe(503);
  expect(await sql`SELECT member FROM group_members`).toEqual(json.members.map((member) => ({ member })));
});
