import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type HttpCall, HttpUpstream } from '../../../src/platform/upstream/transport.ts';
import { UpstreamFault } from '../../../src/platform/upstream/upstream-fault.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function start(handler: Handler, connectionsMax = 2) {
  const server = createServer((request, response) => {
    response.on('error', () => {});
    handler(request, response);
  });
  let connections = 0;
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const upstream = new HttpUpstream(`http://127.0.0.1:${port}`, { connectionsMax });
  onTestFinished(async () => {
    await upstream.close();
    server.closeAllConnections();
    server.close();
  });
  return { upstream, connections: () => connections };
}

function callOf(fields: Partial<HttpCall> = {}): HttpCall {
  return {
    method: 'POST',
    path: '/v1/things',
    headers: { 'x-test': 'yes' },
    body: '{}',
    timeoutMs: 10_000,
    bodyBytesMax: 100_000,
    signal: new AbortController().signal,
    ...fields,
  };
}

async function faultOf(promise: Promise<unknown>): Promise<UpstreamFault> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof UpstreamFault) return error;
  throw new Error('no UpstreamFault', { cause: error });
}

describe('HttpUpstream', () => {
  it('a call sends the request unchanged and returns status, headers and body', async () => {
    const { upstream } = await start(async (request, response) => {
      const body = (await request.toArray()).join('');
      const seen = { method: request.method, url: request.url, headers: request.headers, body };
      response.writeHead(207, { 'x-answer': 'a' }).end(JSON.stringify(seen));
    });
    const { status, headers, body } = await upstream.call(callOf({ body: '{"a":"ä"}' }));
    expect(status).toBe(207);
    expect(headers['x-answer']).toBe('a');
    expect(JSON.parse(body.toString())).toMatchObject({
      method: 'POST',
      url: '/v1/things',
      headers: { 'x-test': 'yes', 'content-type': 'application/json', 'content-length': '10' },
      body: '{"a":"ä"}',
    });
  });

  it('connections are kept alive, and no more than the maximum are opened', async () => {
    const { upstream, connections } = await start((_request, response) => response.end('ok'));
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 8 }, () => upstream.call(callOf())));
    }
    expect(connections()).toBeLessThanOrEqual(2);
  });

  it('a body that arrives in chunks is read completely', async () => {
    const { upstream } = await start((_request, response) => {
      for (let chunk = 0; chunk < 50; chunk++) response.write(`${chunk},`.repeat(100));
      response.end();
    });
    const { body } = await upstream.call(callOf());
    expect(body.toString()).toBe(Array.from({ length: 50 }, (_, chunk) => `${chunk},`.repeat(100)).join(''));
  });

  it('a redirect is not followed', async () => {
    let requests = 0;
    const { upstream } = await start((_request, response) => {
      requests++;
      response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end();
    });
    expect((await upstream.call(callOf())).status).toBe(307);
    expect(requests).toBe(1);
  });

  it('informational answers are skipped', async () => {
    const { upstream } = await start((_request, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.end('real');
    });
    const { status, body } = await upstream.call(callOf());
    expect([status, body.toString()]).toEqual([200, 'real']);
  });

  it('a call times out before an answer and in the middle of one', async () => {
    const { upstream } = await start((request, response) => {
      if (request.url === '/half') response.write('half');
    });
    for (const path of ['/nothing', '/half']) {
      const fault = await faultOf(upstream.call(callOf({ path, timeoutMs: 50 })));
      expect([fault.kind, fault.code, fault.status]).toEqual(['transient', 'timeout', null]);
    }
  });

  it('an aborted call rejects with the reason of the signal and closes its connection', async () => {
    const controller = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const { upstream } = await start((_request, response) => {
      closed = once(response, 'close');
      controller.abort(new Error('gone'));
    });
    await expect(upstream.call(callOf({ signal: controller.signal }))).rejects.toThrow('gone');
    await closed;
    await expect(upstream.call(callOf({ signal: controller.signal }))).rejects.toThrow('gone');
  });

  it('a request that was aborted while it waited for a connection is never sent', async () => {
    const seen: (string | undefined)[] = [];
    const release: (() => void)[] = [];
    const { upstream } = await start((request, response) => {
      seen.push(request.url);
      release.push(() => response.end());
    }, 1);
    const first = upstream.call(callOf({ path: '/first' }));
    await expect.poll(() => seen).toEqual(['/first']);
    const controller = new AbortController();
    const second = upstream.call(callOf({ path: '/second', signal: controller.signal }));
    controller.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    const third = upstream.call(callOf({ path: '/third' }));
    release[0]?.();
    await first;
    await expect.poll(() => seen).toHaveLength(2);
    release[1]?.();
    await third;
    expect(seen).toEqual(['/first', '/third']);
  });

  it('a refused, an interrupted and a closed connection are transient faults', async () => {
    const { upstream } = await start((request, response) => {
      if (request.url === '/reset') response.socket?.resetAndDestroy();
      else response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy());
    });
    for (const path of ['/reset', '/half']) {
      const fault = await faultOf(upstream.call(callOf({ path })));
      expect([fault.kind, fault.code, fault.isUnsent]).toEqual(['transient', 'connection', false]);
    }
    const unused = new HttpUpstream('http://127.0.0.1:1', { connectionsMax: 1 });
    const refused = await faultOf(unused.call(callOf()));
    expect([refused.message, refused.isUnsent]).toEqual(['the connection failed (ECONNREFUSED)', true]);
    await unused.close();
    expect((await faultOf(unused.call(callOf()))).code).toBe('connection');
  });

  it('a body that is too long fails the call, with and without a content length', async () => {
    const { upstream } = await start((request, response) => {
      const body = Buffer.alloc(100_001, 'x');
      if (request.url === '/announced') response.writeHead(200, { 'content-length': body.length });
      response.end(body);
    });
    for (const path of ['/announced', '/chunked']) {
      const fault = await faultOf(upstream.call(callOf({ path })));
      expect([fault.kind, fault.code]).toEqual(['transient', 'body_too_large']);
    }
    expect((await upstream.call(callOf({ bodyBytesMax: 100_001 }))).body).toHaveLength(100_001);
  });

  it('only the beginning of a long error body is read', async () => {
    const { upstream } = await start((_request, response) => {
      response.writeHead(500).end(Buffer.alloc(1_000_000, 'x'));
    });
    const { status, body } = await upstream.call(callOf());
    expect([status, body.length]).toEqual([500, 65_536]);
  });
});

describe('answers that a proxy encoded', () => {
  it.each([
    ['gzip', gzipSync('{"a":"ä"}')],
    ['GZIP', gzipSync('{"a":"ä"}')],
    ['x-gzip', gzipSync('{"a":"ä"}')],
    ['deflate', deflateSync('{"a":"ä"}')],
    ['br', brotliCompressSync('{"a":"ä"}')],
    ['identity', Buffer.from('{"a":"ä"}')],
    ['gzip', gzipSync('\ufeff{"a":"ä"}')],
    ['', Buffer.from('\ufeff{"a":"ä"}')],
  ])('an answer in "%s" is read, without a byte order mark', async (encoding, bytes) => {
    const { upstream } = await start((_request, response) => {
      response.writeHead(200, encoding === '' ? {} : { 'content-encoding': encoding }).end(bytes);
    });
    expect((await upstream.call(callOf())).body.toString()).toBe('{"a":"ä"}');
  });

  it('an encoded answer that is damaged or too long is a fault', async () => {
    const bodies = [Buffer.from('no gzip'), gzipSync('x'.repeat(200_000))];
    const { upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bodies.shift());
    });
    for (let call = 0; call < 2; call++) {
      expect(await faultOf(upstream.call(callOf()))).toMatchObject({ kind: 'transient', code: 'unreadable_encoding' });
    }
  });
});
