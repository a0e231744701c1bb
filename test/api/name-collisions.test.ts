import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { messengerConfig, PATIENT, signedDelivery } from '../support/channels.ts';
import { DEFINITION } from '../support/route-requests.ts';

// Every name that an organization chooses is chosen by twelve organizations at once. Each gets its own thing, and
// reaches it.

const ORGANIZATIONS = 12;
const BOT = 'bot-of-everybody';

let test: TestApi;
let keys: string[];

beforeAll(async () => {
  const sources = { docs: { type: 'folder', root: import.meta.dirname, organizations: ['*'] } };
  test = await openTestApi({ worker: false, settings: { ...PATIENT, sources } });
  const scopes = SCOPES.filter((scope) => scope !== 'platform_admin');
  keys = [];
  for (let i = 0; i < ORGANIZATIONS; i++) keys.push(await test.key({ org: `tenant-${i}`, scopes, authLevel: 9 }));
});
afterAll(() => test.close());

/** Bodies whose names are equal for all organizations, by the operation that creates something of this name. */
const CREATED: Readonly<Record<string, { path: string; json: (nth: number) => Record<string, unknown> }>> = {
  createBucket: { path: '/v1/buckets', json: () => ({ name: 'default' }) },
  createCollection: { path: '/v1/buckets/default/collections', json: () => ({ name: 'shelf' }) },
  createKey: { path: '/v1/keys', json: () => ({ name: 'key', scopes: ['search'] }) },
  createGroup: { path: '/v1/groups', json: () => ({ name: 'legal' }) },
  createUser: { path: '/v1/users', json: () => ({ email: 'ann@example.com' }) },
  createAssistant: { path: '/v1/assistants', json: () => ({ name: 'helper', buckets: ['default'] }) },
  createWebhook: { path: '/v1/webhooks', json: () => ({ name: 'hooks', url: 'https://example.com/hooks' }) },
  createWorkflow: { path: '/v1/workflows', json: () => ({ name: 'answers', definition: DEFINITION }) },
  createMemorySource: {
    path: '/v1/memory/sources',
    json: () => ({ name: 'handbook', connection: 'docs', bucket: 'default' }),
  },
  createChannelConfig: {
    path: '/v1/channels/configs',
    json: (nth) => ({
      name: 'bot',
      provider: 'messenger',
      config: messengerConfig({ bot_id: BOT, secret: `signing-secret-of-tenant-${nth}` }),
    }),
  },
  uploadDocument: {
    path: '/v1/buckets/default/documents',
    json: () => ({ filename: 'a.txt', text: 'The same text.', source_path: 'docs/a.txt', on_duplicate: 'replace' }),
  },
};

/** Operations that create something that no name of the organization's choice finds, or only for the installation. */
const UNNAMED = new Set([
  ...['createEmbeddings', 'createChatCompletion', 'createSession', 'createOrganization', 'submitBulkJob'],
  ...['createFile', 'createBatch', 'createVectorStore', 'createVectorStoreFile', 'createVectorStoreFileBatch'],
  'createWorkflowTrigger',
  // They make the users and groups that the operations above make.
  ...['createScimUser', 'createScimGroup'],
]);

it('every operation that creates something is tried', () => {
  const operations = apiRoutes(test.appliance, () => {}).map(({ operationId }) => operationId);
  const creating = operations.filter((name) => /^(create|upload|submit)/.test(name) && !UNNAMED.has(name));
  expect(creating.toSorted()).toEqual(Object.keys(CREATED).toSorted());
});

it('twelve organizations create things of equal names at the same time, and each lists its own', async () => {
  const ids: string[] = [];
  for (const [operation, { path, json }] of Object.entries(CREATED)) {
    const answers = await Promise.all(
      keys.map((key, nth) =>
        test.call('POST', path, { key, json: json(nth), headers: { 'Idempotency-Key': `the-same-${operation}` } }),
      ),
    );
    // The bucket of this name is there already.
    const wanted = operation === 'createBucket' ? [409] : [200, 201, 202];
    expect([operation, answers.map(({ status }) => status).filter((status) => !wanted.includes(status))]).toEqual([
      operation,
      [],
    ]);
    // A group has no id beside its name.
    if (!['createBucket', 'createGroup'].includes(operation)) ids.push(...answers.map(({ body }) => body.id as string));
  }
  expect(new Set(ids).size).toBe(ids.length);
  for (const key of keys) {
    expect((await test.call('GET', '/v1/workflows/answers', { key })).status).toBe(200);
    expect((await test.call('GET', '/v1/memory/sources/handbook', { key })).status).toBe(200);
    expect((await test.call('GET', '/v1/users/ann@example.com', { key })).status).toBe(200);
    expect((await test.call('GET', '/v1/groups/legal', { key })).body.member_count).toBe(0);
    const documents = await test.call('GET', '/v1/buckets/default/documents', { key });
    expect(documents.body.data).toHaveLength(1);
  }
});

it('the bot of every organization is reached, also of the twelfth with one bot_id', async () => {
  const sharedStatuses: number[] = [];
  for (const [nth, key] of keys.entries()) {
    const [{ id }] = (await test.call('GET', '/v1/channels/configs', { key })).body;
    const secret = `signing-secret-of-tenant-${nth}`;
    const delivery = signedDelivery({ bot_id: BOT, utterance: 'hello' }, { secret });
    const own = await test.call('POST', `/v1/channels/messenger/${id}/webhook`, delivery);
    expect([nth, own.status]).toEqual([nth, 200]);
    const shared = await test.call('POST', '/v1/channels/messenger/webhook', delivery);
    sharedStatuses.push(shared.status);
    const other = signedDelivery({ bot_id: BOT }, { secret: `signing-secret-of-tenant-${(nth + 1) % 12}` });
    expect((await test.call('POST', `/v1/channels/messenger/${id}/webhook`, other)).status).toBe(403);
  }
  // The shared path reaches the ten oldest.
  expect(sharedStatuses.filter((status) => status === 200)).toHaveLength(10);
  const scopes = SCOPES.filter((scope) => scope !== 'platform_admin');
  const late = await test.key({ org: 'tenant-late', scopes, authLevel: 9 });
  const made = await test.call('POST', '/v1/channels/configs', {
    key: late,
    json: CREATED['createChannelConfig']?.json(99),
  });
  expect(made.headers.get('x-service-warning')).toContain(`/v1/channels/messenger/${made.body.id}/webhook`);
});
