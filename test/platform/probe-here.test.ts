import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { probeHere } from '../../src/platform/probe-here.ts';
import { TEST_CA, TEST_KEY } from '../support/certificates.ts';

let server: Pick<Server, 'listen' | 'address' | 'close' | 'closeAllConnections'>;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function listen(opened: typeof server): Promise<string> {
  server = opened;
  await once((opened as Server).listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(opened.address() as AddressInfo).port}/readyz`;
}

const answer: RequestListener = (_, response) => response.writeHead(200, { 'X-Request-Id': 'req_1' }).end('ready');

test('a server without TLS is probed by http', async () => {
  const url = await listen(createHttp(answer));
  expect(await probeHere(url, 5_000)).toMatchObject({
    status: 200,
    body: 'ready',
    headers: { 'x-request-id': 'req_1' },
  });
});

test('a server with TLS is probed by https, whatever its certificate names', async () => {
  const url = await listen(createHttps({ cert: readFileSync(TEST_CA), key: readFileSync(TEST_KEY) }, answer));
  expect(await probeHere(url, 5_000)).toMatchObject({ status: 200, body: 'ready' });
});

test('a server that answers nothing fails within the time', async () => {
  const url = await listen(createHttp(() => undefined));
  await expect(probeHere(url, 50)).rejects.toThrow();
});
