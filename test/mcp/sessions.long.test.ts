import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SearchResult } from '../../src/client/schema.ts';
import { ResultCache } from '../../src/mcp/session-results.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';
import { startFakeApi } from './fake-api.ts';
import { connectHttp, INITIALIZE, post, REVISIONS, startToolServer, TOKEN, textOf } from './support.ts';

let test: TestApi;
let key: string;
let env: Record<string, string>;

beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ scopes: ['search'], authLevel: 5 });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key };
  await ingestAll(test.appliance, test.operator, 'default', [
    { id: 'ferry', fileName: 'ferry.txt', text: 'The ferry leaves the harbour at seven.' },
  ]);
});
afterAll(() => test.close());

const upstream = () => ({ SERVICE_API_BASE_URL: test.api.url, SERVICE_MCP_AUTH_MODE: 'upstream-bearer' });
const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 2, method, params });

async function openSession(url: string, bearer = TOKEN): Promise<string> {
  const reply = await post(url, INITIALIZE, { bearer });
  await reply.text();
  return reply.headers.get('mcp-session-id') ?? '';
}

describe('sessions', () => {
  it('a session of another bearer is as unknown as one that never was', async () => {
    const { url } = await startToolServer(upstream());
    const other = await test.key({ scopes: ['search'] });
    const mine = await openSession(url, key);
    const call = async (bearer: string, id: string, method = 'POST') => {
      const headers = { 'Mcp-Session-Id': id };
      const authorized = { Authorization: `Bearer ${bearer}`, Accept: 'text/event-stream', ...headers };
      const reply =
        method === 'POST'
          ? await post(url, rpc('tools/list'), { bearer, headers })
          : await fetch(url, { method, headers: authorized });
      return [reply.status, method === 'POST' && bearer === key ? '' : await reply.text()];
    };
    for (const method of ['POST', 'GET', 'DELETE']) {
      const foreign = await call(other, mine, method);
      expect(foreign[0]).toBe(404);
      expect(foreign).toEqual(await call(other, '00000000-0000-4000-8000-000000000000', method));
    }
    expect((await call(key, mine))[0]).toBe(200);
  });

  it.each(REVISIONS)('results of one client are not fetched by another in revision %s', async (revision) => {
    const { url } = await startToolServer(upstream());
    const mine = await connectHttp(url, revision, key);
    const other = await connectHttp(url, revision, await test.key({ scopes: ['search'], authLevel: 5 }));
    const { results } = JSON.parse(textOf(await mine.callTool({ name: 'search', arguments: { query: 'ferry' } })));
    const fetched = (client: typeof mine) => client.callTool({ name: 'fetch', arguments: { id: results[0].id } });
    expect((await fetched(mine)).isError).toBeFalsy();
    expect((await fetched(other)).isError).toBe(true);
  });

  it('two sessions of one client in revision 2025-11-25 do not share results', async () => {
    const { url } = await startToolServer(env);
    const one = await connectHttp(url, '2025-11-25');
    const two = await connectHttp(url, '2025-11-25');
    const { results } = JSON.parse(textOf(await one.callTool({ name: 'search', arguments: { query: 'ferry' } })));
    expect((await two.callTool({ name: 'fetch', arguments: { id: results[0].id } })).isError).toBe(true);
  });

  it('fetch gives nothing to a client whose key was revoked after the search', async () => {
    const service = await startToolServer(env);
    const shortLived = await test.key({ scopes: ['search'], authLevel: 5 });
    const { url } = await startToolServer({ ...env, SERVICE_API_KEY: shortLived });
    const client = await connectHttp(url, '2025-11-25');
    const { results } = JSON.parse(textOf(await client.callTool({ name: 'search', arguments: { query: 'ferry' } })));
    await test.appliance.sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${shortLived.split('_')[1] as string}`;
    const refused = await until(async () => {
      const result = await client.callTool({ name: 'fetch', arguments: { id: results[0].id } });
      return result.isError && result;
    });
    expect(textOf(refused)).toContain('status 401');
    expect(service.held.results).toBe(0);
  });

  it('a session ends by DELETE, and its results with it', async () => {
    const service = await startToolServer(env);
    const client = await connectHttp(service.url, '2025-11-25');
    await client.callTool({ name: 'search', arguments: { query: 'ferry' } });
    expect(service.held).toMatchObject({ sessions: 1, results: 1 });
    await (client.transport as unknown as { terminateSession(): Promise<void> }).terminateSession();
    await until(async () => service.held.sessions === 0 && service.held.results === 0);
  });

  it('many sessions that are opened and dropped leave nothing', async () => {
    const service = await startToolServer({ ...env, SERVICE_MCP_SESSION_IDLE_SECONDS: '1' });
    for (let round = 0; round < 10; round++) {
      const opened = await Promise.all(Array.from({ length: 20 }, () => openSession(service.url)));
      expect(new Set(opened).size).toBe(20);
      await Promise.all(
        opened.map(async (id) =>
          (
            await post(service.url, rpc('tools/call', { name: 'search', arguments: { query: 'ferry' } }), {
              headers: { 'Mcp-Session-Id': id },
            })
          ).text(),
        ),
      );
    }
    await until(async () => service.held.sessions === 0);
    expect(service.held).toEqual({ sessions: 0, results: 0, messageBytes: 0 });
  });

  it('the number of sessions has a bound, beyond which a new one is told to wait', async () => {
    const service = await startToolServer({ ...env, SERVICE_MCP_SESSIONS_MAX: '3' });
    for (let n = 0; n < 3; n++) await openSession(service.url);
    const refused = await post(service.url, INITIALIZE);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
    expect(await refused.text()).toContain('too many open sessions');
    expect(service.held.sessions).toBe(3);
  });

  it('a refused initialize leaves no session', async () => {
    const service = await startToolServer(env);
    const reply = await post(service.url, INITIALIZE, { headers: { Accept: 'text/plain' } });
    expect([reply.status, service.held.sessions]).toEqual([406, 0]);
  });
});

describe('the connection', () => {
  it('a client that never reads its stream is disconnected', async () => {
    const service = await startToolServer({ ...env, SERVICE_MCP_BODY_BYTES: '4000000' }, { stalledMs: 600 });
    const id = await openSession(service.url);
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    let isClosed = false;
    socket.on('close', () => {
      isClosed = true;
    });
    socket.on('error', () => undefined);
    socket.pause();
    const body = JSON.stringify(rpc('tools/list'));
    const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: ${id}\r\nContent-Length: ${body.length}\r\n\r\n`;
    // More answers than the buffers of both sides take.
    await until(async () => {
      for (let n = 0; n < 50 && !isClosed; n++) socket.write(head + body);
      return isClosed || socket.destroyed;
    });
    expect((await fetch(service.url.replace('/mcp', '/healthz'))).status).toBe(200);
  });

  it('a stop ends open streams and lets calls finish', async () => {
    const api = await startFakeApi();
    const service = await startToolServer({ SERVICE_API_BASE_URL: api.url, SERVICE_API_KEY: 'any' });
    const client = await connectHttp(service.url, '2025-11-25');
    const release = api.holdSearches();
    const call = client.callTool({ name: 'service_search', arguments: { query: 'ferry' } });
    await until(async () => api.calls.some(({ path }) => path.endsWith('/search')));
    const stopped = service.stop();
    await until(async () => (await fetch(service.url).catch(() => null)) === null);
    release();
    expect((await call).isError).toBeFalsy();
    await stopped;
    expect(service.held.sessions).toBe(0);
  });
});

describe('kept results', () => {
  const result = (id: string, length = 10) => ({ id, text: 'x'.repeat(length) }) as SearchResult;

  it('give way to newer ones at the bound in bytes, and are forgotten with their session', () => {
    const cache = new ResultCache({ bytesMax: 100_000 });
    const one = cache.of('one');
    const two = cache.of('two');
    for (const id of ['a', 'b']) one.remember('b', result(id, 20_000));
    two.remember('b', result('a', 20_000));
    expect([one.find('a'), one.find('b') === null, two.find('a') === null]).toEqual([null, false, false]);
    cache.forget('one');
    expect([one.find('b'), cache.size]).toEqual([null, 1]);
    two.remember('b', result('huge', 200_000));
    expect(two.find('huge')).toBeNull();
  });

  it('are at most 500 of one session', () => {
    const cache = new ResultCache();
    const one = cache.of('one');
    for (let n = 0; n < 600; n++) one.remember('b', result(`chunk${n}`));
    expect([cache.size, one.find('chunk99'), one.find('chunk100') === null]).toEqual([500, null, false]);
    expect([one.find('r100'), one.find('r101')?.result.id]).toEqual([null, 'chunk100']);
  });

  it('keep their short ids, which are not used again for other results', () => {
    const one = new ResultCache({ bytesMax: 5_000 }).of('one');
    expect(['a', 'a', 'b', 'c'].map((id) => one.remember('b', result(id)))).toEqual(['r1', 'r1', 'r2', 'r3']);
    expect([one.find('r1'), one.find('r3')?.result.id]).toEqual([null, 'c']);
    expect(one.remember('b', result('a'))).toBe('r4');
  });
});
