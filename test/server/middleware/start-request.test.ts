import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { echo, hanging } from '../sample-routes.ts';
import { postJson, RawClient, startTestServer } from '../support.ts';

describe('request id', () => {
  test('a harmless request id of the client is used in header and body, and others are replaced', async () => {
    const server = await startTestServer([echo]);
    const sane = await postJson(server, '/v1/embeddings', { input: 'a' }, { 'X-Request-Id': 'abc.DEF:1_2-3' });
    expect(sane.headers.get('x-request-id')).toBe('abc.DEF:1_2-3');
    expect(await sane.json()).toMatchObject({ requestId: 'abc.DEF:1_2-3', actor: 'key:test' });
    for (const insane of ['x'.repeat(129), 'a b', 'a"b', '<script>']) {
      const response = await postJson(server, '/v1/embeddings', { input: 3 }, { 'X-Request-Id': insane });
      const id = response.headers.get('x-request-id');
      expect(id).toMatch(/^req_[0-9a-z]{26}$/);
      expect(await response.json()).toMatchObject({ request_id: id });
    }
  });

  test('a response without a route has a request id', async () => {
    const server = await startTestServer([echo]);
    const response = await fetch(`${server.url}/nowhere`, { headers: { 'X-Request-Id': 'mine' } });
    expect(response.headers.get('x-request-id')).toBe('mine');
  });
});

describe('signal', () => {
  test('the signal is aborted when the client leaves, which is not logged as a fault', async () => {
    const { waiting, route } = hanging();
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const server = await startTestServer([route], { logger });
    const client = await RawClient.connect(server.port);
    client.write('GET /hangs HTTP/1.1\r\nHost: x\r\n\r\n');
    const signal = await waiting;
    client.socket.destroy();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await expect
      .poll(async () => (await server.metrics.httpRequests.get()).values)
      .toMatchObject([{ value: 1, labels: { operation: 'hangs', status: '499' } }]);
    expect(lines).toEqual([]);
  });

  test('the signal is aborted after the deadline of the drain, and the client should try again', async () => {
    const { waiting, route } = hanging();
    const drain = new AbortController();
    const server = await startTestServer([route], { settings: { drain: drain.signal } });
    const pending = fetch(`${server.url}/hangs`);
    await waiting;
    drain.abort();
    const response = await pending;
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  });
});
