import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ authLevel: 9, scopes: ['documents:write', 'buckets:manage', 'keys:manage', 'users:manage'] });
});
afterAll(() => test.close());

const DOCUMENTS = '/v1/buckets/default/documents';
const FIELDS = 'there is no such field';

it.each([
  [
    'POST',
    DOCUMENTS,
    { filename: 'a.txt', text: 'x', privacylevel: 5 },
    `privacylevel: ${FIELDS}; did you mean privacy_level?`,
  ],
  [
    'POST',
    DOCUMENTS,
    { filename: 'a.txt', text: 'x', Privacy_Level: 5 },
    `Privacy_Level: ${FIELDS}; did you mean privacy_level?`,
  ],
  ['POST', DOCUMENTS, { filename: 'a.txt', text: 'x', acl: [] }, `acl: ${FIELDS}; the fields are `],
  [
    'POST',
    '/v1/buckets',
    { name: 'b', policy: { max_privacylevel: 3 } },
    `policy.max_privacylevel: ${FIELDS}; did you mean max_privacy_level?`,
  ],
  ['POST', '/v1/keys', { name: 'k', authlevel: 1 }, `authlevel: ${FIELDS}; did you mean auth_level?`],
  [
    'POST',
    '/v1/users',
    { email: 'a@example.com', departement: 'x' },
    `departement: ${FIELDS}; did you mean department?`,
  ],
] as const)('%s %s with a misspelt field is refused: %o', async (method, path, json, message) => {
  const { status, body } = await test.call(method, path, { key, json });
  expect([status, body.detail]).toEqual([400, expect.stringContaining(message)]);
});

it('a misspelt part of a multipart upload is refused, also beside a large file', async () => {
  for (const bytes of [10, 2_000_000]) {
    const form = new FormData();
    form.set('file', new Blob(['x'.repeat(bytes)]), 'a.txt');
    form.set('privacy-level', '5');
    const { status, body } = await test.call('POST', DOCUMENTS, { key, body: form });
    expect([status, body.detail]).toEqual([400, expect.stringContaining('did you mean privacy_level?')]);
  }
});

it('a large JSON upload is checked, too, and user metadata has any key', async () => {
  const text = 'x'.repeat(500_000);
  const refused = await test.call('POST', DOCUMENTS, { key, json: { filename: 'a.txt', text, scop: 'sales' } });
  expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining(`scop: ${FIELDS}`)]);
  const json = { filename: 'a.txt', text, metadata: { privacylevel: 'mine', nested: 'any' } };
  expect((await test.call('POST', DOCUMENTS, { key, json })).status).toBe(202);
});

it('every route whose body decides who may read or do something refuses unknown fields', () => {
  const routes = apiRoutes(test.appliance, () => {});
  const deciding = /auth_level|privacy_level|public_accessible|scopes|role|policy|access|suspended|department/;
  const open = routes.filter((route) => {
    const { body, refusesUnknownFields } = route;
    const shape = (body as { shape?: object } | undefined)?.shape ?? {};
    // The contract has edits of metadata ignore unknown fields. They change nothing that is not named.
    if (route.operationId.endsWith('Metadata')) return false;
    return Object.keys(shape).some((name) => deciding.test(name)) && refusesUnknownFields !== true;
  });
  expect(open.map(({ operationId }) => operationId)).toEqual([]);
});
