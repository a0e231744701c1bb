import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { connectHttp, INITIALIZE, post, startToolServer, textOf } from './support.ts';

// Shares of organizations and addresses in a tool server where every client sends a key of its own.

const MIB = 1024 * 1024;

let test: TestApi;
let env: Record<string, string>;
const keys: Record<'ours' | 'theirs', string[]> = { ours: [], theirs: [] };

beforeAll(async () => {
  test = await openTestApi({ worker: false });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_MCP_AUTH_MODE: 'upstream-bearer' };
  for (const org of ['ours', 'theirs'] as const) {
    for (let i = 0; i < 5; i++) keys[org].push(await test.key({ org, scopes: ['search'] }));
  }
});
afterAll(() => test.close());

const keyOf = (org: 'ours' | 'theirs', nth = 0) => keys[org][nth] as string;

describe('sessions', () => {
  const initialize = async (url: string, bearer: string) => (await post(url, INITIALIZE, { bearer })).status;

  it('all keys of an organization together have half of them', async () => {
    const { url } = await startToolServer({ ...env, SERVICE_MCP_SESSIONS_MAX: '8' });
    const statuses = [];
    for (const key of keys.ours) statuses.push(await initialize(url, key));
    expect(statuses).toEqual([200, 200, 200, 200, 503]);
    expect(await initialize(url, keyOf('theirs'))).toBe(200);
  });

  it('an organization without one gets one of the organization with the most', async () => {
    const service = await startToolServer({ ...env, SERVICE_MCP_SESSIONS_MAX: '4' });
    const third = await test.key({ org: 'third', scopes: ['search'] });
    for (const org of ['ours', 'theirs'] as const) {
      for (let i = 0; i < 2; i++) expect(await initialize(service.url, keyOf(org, i))).toBe(200);
    }
    expect(await initialize(service.url, third)).toBe(200);
    expect(service.held.sessions).toBe(4);
    // Now each organization has its share, and nobody loses a session to another one.
    expect(await initialize(service.url, await test.key({ org: 'fourth', scopes: ['search'] }))).toBe(200);
    expect(await initialize(service.url, keyOf('ours', 4))).toBe(503);
  });
});

it('bodies that stall take half of the memory, and another organization is served', async () => {
  const service = await startToolServer({ ...env, SERVICE_MCP_BODY_BYTES: String(MIB) });
  const { port } = new URL(service.url);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let i = 0; i < 10; i++) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keyOf('ours', i % 5)}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n${' '.repeat(MIB - 1)}`,
    );
  }
  await until(async () => service.held.messageBytes > 3.5 * MIB, { what: 'stalled bodies' });
  expect(service.held.messageBytes).toBeLessThanOrEqual(4 * MIB);
  const padded = { ...INITIALIZE, padding: 'x'.repeat(MIB / 2) };
  expect((await post(service.url, padded, { bearer: keyOf('theirs') })).status).not.toBe(503);
});

it('wrong bearers of one address delay nobody who was accepted before', async () => {
  const { url } = await startToolServer(env);
  const client = await connectHttp(url, '2026-07-28', keyOf('theirs'));
  const wrong = Array.from({ length: 250 }, (_, i) => post(url, INITIALIZE, { bearer: `svc_wrong${i}_x` }));
  const ended = Promise.all(wrong).then((replies) => replies.map(({ status }) => status));
  let isOver = false;
  ended.then(() => {
    isOver = true;
  });
  let answered = 0;
  while (!isOver && answered < 10) {
    expect((await client.callTool({ name: 'service_list_buckets' })).isError).not.toBe(true);
    answered++;
  }
  // The calls were answered while wrong bearers still waited for their refusals.
  expect([answered, isOver]).toEqual([10, false]);
  const statuses = new Set(await ended);
  expect([...statuses].every((status) => [401, 429, 503].includes(status))).toBe(true);
  expect(statuses.has(401)).toBe(true);
});

describe('forms of answers', () => {
  it.each([
    ['*/*', /json|event-stream/],
    ['application/json', /json/],
    ['application/*', /json/],
    ['APPLICATION/JSON, TEXT/EVENT-STREAM', /json|event-stream/],
    ['text/html, application/json;q=0.9', /json/],
    ['text/event-stream', /event-stream|json/],
    ['', /json|event-stream/],
  ])('a client that accepts "%s" is served', async (accept, type) => {
    const { url } = await startToolServer(env);
    const bearer = keyOf('ours');
    const opened = await post(url, INITIALIZE, { bearer, headers: { Accept: accept } });
    expect([opened.status, opened.headers.get('content-type')]).toEqual([200, expect.stringMatching(type)]);
    const session = { 'Mcp-Session-Id': opened.headers.get('mcp-session-id') as string, Accept: accept };
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'service_list_buckets', arguments: {} },
    };
    const called = await post(url, call, { bearer, headers: session });
    expect([called.status, called.headers.get('content-type')]).toEqual([200, expect.stringMatching(type)]);
    expect(await called.text()).toContain('"result"');
  });

  it.each(['text/html', 'image/png, text/plain', 'application/json;q=0'])('"%s" is refused', async (accept) => {
    const { url } = await startToolServer(env);
    const reply = await post(url, INITIALIZE, { bearer: keyOf('ours'), headers: { Accept: accept } });
    expect([reply.status, await reply.text()]).toEqual([406, expect.stringContaining('header Accept')]);
  });
});

it('"initialize" with the id of a session that has ended starts a new one', async () => {
  const { url } = await startToolServer(env);
  const headers = { 'Mcp-Session-Id': 'ended-long-ago' };
  const reply = await post(url, INITIALIZE, { bearer: keyOf('ours'), headers });
  expect([reply.status, reply.headers.get('mcp-session-id')]).toEqual([200, expect.not.stringContaining('ended')]);
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  expect((await post(url, list, { bearer: keyOf('ours'), headers })).status).toBe(404);
});

it('faults of arguments are sentences', async () => {
  const { url } = await startToolServer(env);
  for (const revision of ['2026-07-28', '2025-11-25'] as const) {
    const client = await connectHttp(url, revision, keyOf('ours'));
    const call = async (args: Record<string, unknown>) =>
      textOf(await client.callTool({ name: 'service_search', arguments: args }));
    expect(await call({})).toBe('The argument "query" is required. Correct it and call the tool again.');
    expect(await call({ query: 5 })).toBe('The argument "query" must be a string. Correct it and call the tool again.');
    expect(await call({ query: 'x', top_k: 'many' })).toMatch(/^The argument "top_k" must be .*call the tool again\.$/);
  }
});

it('arguments that are no object are an object in JSON text, or none', async () => {
  const { url } = await startToolServer(env);
  const bearer = keyOf('ours');
  const opened = await post(url, INITIALIZE, { bearer });
  const headers = { 'Mcp-Session-Id': opened.headers.get('mcp-session-id') as string };
  const call = async (name: string, args: unknown) => {
    const message = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name, arguments: args } };
    return (await post(url, message, { bearer, headers })).text();
  };
  for (const args of [null, 'words', ['query'], 7])
    expect(await call('service_search', args)).toContain('The argument \\"query\\" is required. Correct it');
  expect(await call('service_search', '{"query":""}')).toContain('The argument \\"query\\" must not be empty');
  expect(await call('service_list_buckets', null)).toContain('"structuredContent"');
});
