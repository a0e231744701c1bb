import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { trustedProxies } from '../../../server/trusted-proxies.ts';
import { auth, bucket, statistics } from '../sample-routes.ts';
import { startTestServer } from '../support.ts';

describe('what is recorded', () => {
  test('requests are counted by operation, and logged without the query string', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const server = await startTestServer([bucket], { logger });
    await (await fetch(`${server.url}/v1/buckets/a?token=hunter2`, { headers: auth })).text();
    await (await fetch(`${server.url}/nowhere?token=hunter2`)).text();
    await expect
      .poll(async () =>
        (await server.metrics.httpRequests.get()).values.map(({ labels, value }) => ({ ...labels, value })),
      )
      .toEqual([
        { operation: 'getBucket', method: 'GET', route: '/v1/buckets/:bucket', status: '200', value: 1 },
        { operation: 'unmatched', method: '', route: '', status: '404', value: 1 },
      ]);
    const access = lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'request');
    expect(access).toMatchObject([
      {
        method: 'GET',
        path: '/v1/buckets/a',
        operation: 'getBucket',
        status: 200,
        actor: 'key:test',
        peer: '127.0.0.1',
      },
      { method: 'GET', path: '/nowhere', status: 404 },
    ]);
    expect(lines.join('')).not.toContain('hunter2');
  });

  test.each([
    [[], '127.0.0.1'],
    [['10.0.0.0/8'], '127.0.0.1'],
    [['127.0.0.1'], '10.0.0.9'],
    [['127.0.0.0/8', '10.0.0.0/8'], '6.6.6.6'],
    [['127.0.0.1', '::1', '10.0.0.9', '6.6.6.6'], '6.6.6.6'],
  ])('the logged peer behind the trusted proxies %j is %s', async (proxies, peer) => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const server = await startTestServer([statistics], { logger, settings: { proxies: trustedProxies(proxies) } });
    const headers = { 'X-Forwarded-For': '6.6.6.6, 10.0.0.9' };
    await (await fetch(`${server.url}/v1/buckets/statistics`, { headers })).text();
    await expect.poll(() => lines.map((line) => JSON.parse(line).peer)).toEqual([peer]);
  });
});
