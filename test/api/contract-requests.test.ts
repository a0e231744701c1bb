import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

// Clauses of the contract about the forms of requests, which concern many routes.
let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['platform_admin', 'buckets:manage', 'jobs:write', 'channels:manage', 'embed'] });
});
afterAll(() => test.close());

const LONG = 'x'.repeat(3_000);

it.each([
  ['7.3', 'GET', `/v1/jobs/${LONG}`],
  ['7.3', 'GET', `/v1/jobs/${LONG}/files`],
  ['7.3', 'GET', `/v1/jobs/${LONG}/download`],
  ['7.3', 'POST', `/v1/jobs/${LONG}/cancel`],
  ['7.3', 'POST', `/v1/jobs/${LONG}/reprocess`],
  ['7.3', 'DELETE', `/v1/jobs/${LONG}`],
  ['7.2', 'GET', `/v1/embed/jobs/${LONG}`],
  ['7.2', 'GET', `/v1/embed/jobs/${LONG}/result`],
  ['7.2', 'POST', `/v1/embed/jobs/${LONG}/cancel`],
  ['7.4', 'DELETE', `/v1/channels/configs/${LONG}`],
  ['7.5', 'PATCH', `/v1/buckets/${LONG}/documents/d/metadata`],
  ['7.5', 'PATCH', `/v1/buckets/default/documents/${LONG}/metadata`],
  ['7.5', 'GET', `/v1/buckets/${LONG}`],
  ['4.15', 'POST', `/v2/buckets/${LONG}/search`],
])('contract %s: an id of any length is a 404: %s %s', async (_clause, method, path) => {
  const json = method === 'PATCH' ? { metadata: {} } : path.endsWith('/search') ? { query: 'x' } : undefined;
  const credential = path.endsWith('/search') ? await test.key({ scopes: ['search'] }) : key;
  const { status } = await test.call(method, path, { key: credential, ...(json && { json }) });
  expect(status).toBe(404);
});

it('contract 7.4: a notification for a configuration of any length is a 404', async () => {
  const json = { channel_config_id: LONG, phone: '01012345678', template_code: 't' };
  expect((await test.call('POST', '/v1/channels/messenger/send', { key, json })).status).toBe(404);
});

const NOT_DECIMAL = ['0x10', '1e1', '+5', ' 5', '5 ', '5.0', '0b11', '', '５', 'Infinity', 'true'];

it.each([
  ['4.13', 'GET', '/v1/jobs?limit='],
  ['4.13', 'POST', '/v1/admin/reap-stale-jobs?timeout_minutes='],
  ['4.7', 'GET', '/v1/embed/jobs/none/result?limit='],
  ['4.7', 'GET', '/v1/embed/jobs/none/result?offset='],
  ['4.14', 'GET', '/v1/buckets/default/documents?limit='],
  ['4.12', 'GET', '/v1/channels/configs?limit='],
])('contract %s: an integer of a query is decimal digits: %s %s', async (_clause, method, path) => {
  for (const text of NOT_DECIMAL) {
    const { status } = await test.call(method, path + encodeURIComponent(text), { key });
    expect([text, status]).toEqual([text, 400]);
  }
  expect([200, 404]).toContain((await test.call(method, `${path}10`, { key })).status);
});

it('contract 4.14: an integer of a multipart field is decimal digits', async () => {
  const uploads = await test.key({ scopes: ['documents:write'] });
  const upload = (size: string) => {
    const body = new FormData();
    body.append('chunk_size', size);
    body.append('file', new Blob([`text ${size}`]), 'a.txt');
    return test.call('POST', '/v1/buckets/default/documents', { key: uploads, body });
  };
  for (const text of ['0x100', '1e2', '+500', ' 500']) expect([text, (await upload(text)).status]).toEqual([text, 400]);
  expect((await upload('500')).status).toBe(202);
});

it.each(['IDENTITY', 'Identity', 'identity', ' identity '])(
  'a body with Content-Encoding "%s" is read',
  async (encoding) => {
    const headers = { 'Content-Encoding': encoding, 'Content-Type': 'Application/JSON; Charset=UTF-8' };
    const { status } = await test.call('POST', '/v1/embeddings', { key, headers, body: '{"input":"a"}' });
    expect(status).toBe(200);
  },
);

it.each(['GZIP', 'Br', 'identity, gzip'])('a body with Content-Encoding "%s" is a 415', async (encoding) => {
  const headers = { 'Content-Encoding': encoding, 'Content-Type': 'application/json' };
  expect((await test.call('POST', '/v1/embeddings', { key, headers, body: '{"input":"a"}' })).status).toBe(415);
});

it('values of headers that are case-insensitive are read in any case', async () => {
  const uploads = await test.key({ scopes: ['documents:write'] });
  const parts = [
    '--Xy',
    'CONTENT-DISPOSITION: Form-Data; Name="file"; FileName="b.txt"',
    'Content-Transfer-Encoding: BINARY',
  ];
  const body = [...parts, '', 'text of the file', '--Xy--', ''].join('\r\n');
  const headers = { 'Content-Type': 'Multipart/Form-Data; Boundary=Xy', Authorization: `BEARER ${uploads}` };
  const upload = await test.call('POST', '/v1/buckets/default/documents', { headers, body });
  expect([upload.status, upload.body.detail]).toEqual([202, undefined]);
  const page = await fetch(`${test.api.url}/`, { headers: { Accept: 'Text/HTML' } });
  expect(page.headers.get('content-type')).toContain('text/html');
});

it.each(['hybrid', 'vector', 'keyword'])('a query of 8,000 Korean characters is valid in mode %s', async (mode) => {
  const searches = await test.key({ scopes: ['search'] });
  const korean = '항만 사무소는 매년 가을에 조석표를 발간한다 등대를 옮겼다 '.repeat(300).slice(0, 8_000);
  const unbroken = '가나다라마바사아자차카타파하뷁펲똠뵀샾믜'.repeat(500).slice(0, 8_000);
  for (const query of [korean, unbroken]) {
    const { status, body } = await test.call('POST', '/v2/buckets/default/search', {
      key: searches,
      json: { query, mode },
    });
    expect([status, body.detail]).toEqual([200, undefined]);
    const cut = body.warnings.filter((warning: string) => warning.includes('too long for the model'));
    expect(cut).toHaveLength(mode === 'keyword' ? 0 : 1);
  }
});
