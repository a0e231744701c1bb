import { expect, it } from 'vitest';
import { ReplyHeaders } from '../../server/reply-headers.ts';
import { defineRoute } from '../../server/route.ts';
import { SECURITY_HEADERS } from '../../server/security-headers.ts';
import { startTestServer } from './support.ts';

const page = (headers: Readonly<Record<string, string | readonly string[]>>) =>
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

it('a header that is set again keeps its place, and has the last value', () => {
  const headers = ReplyHeaders.of('req_1');
  headers.setAll({ 'x-request-id': 'req_2', 'Retry-After': '1' });
  headers.set('RETRY-AFTER', '2');
  expect(headers.list.slice(-4)).toEqual(['X-Request-Id', 'req_2', 'Retry-After', '2']);
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
