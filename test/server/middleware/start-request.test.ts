import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { echo, hanging } from '../sample-routes.ts';
import { postJson, RawClient, startFrame } from '../support.ts';

describe('request id', () => {
  test('a sane inbound one is echoed in header and body, anything else is replaced', async () => {
    const frame = await startFrame([echo]);
    const sane = await postJson(frame, '/v1/embeddings', { input: 'a' }, { 'X-Request-Id': 'abc.DEF:1_2-3' });
    expect(sane.headers.get('x-request-id')).toBe('abc.DEF:1_2-3');
    expect(await sane.json()).toMatchObject({ requestId: 'abc.DEF:1_2-3', actor: 'key:test' });
    for (const insane of ['x'.repeat(129), 'a b', 'a"b', '<script>']) {
      const response = await postJson(frame, '/v1/embeddings', { input: 3 }, { 'X-Request-Id': insane });
      const id = response.headers.get('x-request-id');
      expect(id).toMatch(/^req_[0-9a-z]{26}$/);
      expect(await response.json()).toMatchObject({ request_id: id });
    }
  });

  test('is on answers that no route gave', async () => {
    const frame = await startFrame([echo]);
    const response = await fetch(`${frame.url}/nowhere`, { headers: { 'X-Request-Id': 'mine' } });
    expect(response.headers.get('x-request-id')).toBe('mine');
  });
});

describe('signal', () => {
  test('is aborted when the client goes away, which is no fault of ours', async () => {
    const { waiting, route } = hanging();
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const frame = await startFrame([route], { logger });
    const client = await RawClient.connect(frame.port);
    client.write('GET /hangs HTTP/1.1\r\nHost: x\r\n\r\n');
    const signal = await waiting;
    client.socket.destroy();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await expect
      .poll(async () => (await frame.metrics.httpRequests.get()).values)
      .toContainEqual({ value: 1, labels: { operation: 'hangs', status: 499 } });
    expect(lines).toEqual([]);
  });

  test('is aborted when the drain’s deadline passes, and the client is told to try again', async () => {
    const { waiting, route } = hanging();
    const drain = new AbortController();
    const frame = await startFrame([route], { settings: { drain: drain.signal } });
    const pending = fetch(`${frame.url}/hangs`);
    await waiting;
    drain.abort();
    const response = await pending;
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  });
});
