import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
});
afterAll(() => test.close());

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

it('a browser gets a page of links at the root', async () => {
  const { status, headers, body } = await test.call('GET', '/', { headers: { Accept: BROWSER } });
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  for (const link of ['/console', '/docs', '/openapi.json', '/healthz', '/readyz'])
    expect(body).toContain(`href="${link}"`);
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(headers.get('vary')).toBe('Accept');
});

it.each(['*/*', 'application/json', 'application/json, text/html', ''])(
  'a client that accepts "%s" gets the links as JSON',
  async (accept) => {
    const { status, body } = await test.call('GET', '/', { headers: { Accept: accept } });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: 'service',
      links: { console: '/console', docs: '/docs', openapi: '/openapi.json' },
    });
  },
);

it.each(['/console', '/docs', '/help'])('a slash behind %s leads to the page', async (page) => {
  const open = (path: string) => fetch(test.api.url + path, { redirect: 'manual' });
  const { status, headers } = await open(`${page}/?a=1`);
  expect([status, headers.get('location')]).toEqual([308, `${page}?a=1`]);
  expect((await open(`/${page}/`)).status).toBe(404);
});

it.each([
  ['an unknown route', 'GET', '/v1/nothing', {}, 404],
  ['another method', 'PUT', '/healthz', {}, 405],
  ['no key', 'GET', '/v1/jobs', { key: '' }, 401],
  ['a bad query', 'GET', '/v1/buckets/default/documents?limit=0', {}, 400],
  ['another content type', 'POST', '/v1/embeddings', { body: 'x', headers: { 'Content-Type': 'text/plain' } }, 415],
  ['a body that is no JSON', 'POST', '/v1/vector_stores/default/search', { body: '{' }, 400],
])('the error of %s has an X-Request-Id', async (_label, method, path, options, expected) => {
  const key = await test.key();
  const answer = await test.call(method, path, { key, headers: { 'Content-Type': 'application/json' }, ...options });
  expect([answer.status, answer.headers.get('x-request-id')]).toEqual([expected, expect.stringMatching(/^req_/)]);
  if (answer.body.request_id !== undefined) expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
});
