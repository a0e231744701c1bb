import { expect, it } from 'vitest';
import { defineRoute } from '../../server/route.ts';
import { SECURITY_HEADERS } from '../../server/security-headers.ts';
import { startTestServer } from './support.ts';

const page = (headers: Readonly<Record<string, string | string[]>>) =>
  defineRoute({
    method: 'GET',
    path: '/v1/page',
    operationId: 'page',
    summary: 'Page',
    access: 'public',
    errors: 'detail',
    reads: 'none',
    headers: { 'cache-control': 'max-age=60' },
    responses: { 200: { description: 'Page' } },
    handle: async () => ({ body: { is: 'ü' }, headers }),
  });

it('a header of a route or a reply replaces an earlier one, however its name is written', async () => {
  const server = await startTestServer([page({ 'REFERRER-POLICY': 'origin', 'Set-Cookie': ['a=1', 'b=2'] })]);
  const response = await fetch(`${server.url}/v1/page`, { headers: { 'X-Request-Id': 'mine' } });
  expect(await response.json()).toEqual({ is: 'ü' });
  const headers = Object.fromEntries(response.headers);
  const others = Object.entries(SECURITY_HEADERS).filter(
    ([name]) => !/^(?:cache-control|referrer-policy)$/i.test(name),
  );
  expect(headers).toMatchObject({
    ...Object.fromEntries(others.map(([name, value]) => [name.toLowerCase(), value])),
    'cache-control': 'max-age=60',
    'referrer-policy': 'origin',
    'x-request-id': 'mine',
    'content-type': 'application/json; charset=utf-8',
    'content-length': '11',
  });
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
});

it('a reply with a header that cannot be written is a fault, whose response has the other headers', async () => {
  const server = await startTestServer([page({ 'X-Broken': 'line\nbreak' })]);
  const response = await fetch(`${server.url}/v1/page`);
  expect(response.status).toBe(500);
  expect(await response.text()).toContain('an internal error occurred');
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'cache-control': 'max-age=60',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^req_/),
  });
  expect(response.headers.has('X-Broken')).toBe(false);
});
