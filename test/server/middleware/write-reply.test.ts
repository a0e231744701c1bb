import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ReplyMemory } from '../../../server/reply-memory.ts';
import { defineRoute, type RouteReply } from '../../../server/route.ts';
import { until } from '../../support/until.ts';
import { startTestServer } from '../support.ts';

const MIB = 1024 * 1024;
/** Larger than what the buffers of two sockets take over: up to 36 MiB on hosts with fast networks. */
const LARGE = Buffer.alloc(48 * MIB, 'x');

async function startLarge(reply: RouteReply, unreadMsMax = 60_000) {
  const route = defineRoute({
    method: 'GET',
    path: '/v1/large',
    operationId: 'large',
    summary: 'Answers with a large body',
    access: 'embed',
    errors: 'detail',
    reads: 'none',
    responses: {},
    handle: async () => reply,
  });
  const replyMemory = new ReplyMemory({ bytesOfOneMax: 100 * MIB, unreadMsMax });
  const server = await startTestServer([route], { settings: { replyMemory } });
  const get = () => fetch(`${server.url}/v1/large`, { headers: { Authorization: 'Bearer embed' } });
  return { ...server, get };
}

/** Send a request and read nothing but the first part of its response. */
async function askUnread(port: number): Promise<{ socket: Socket; status: string }> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write('GET /v1/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer embed\r\n\r\n');
  await once(socket, 'readable');
  return { socket, status: String(socket.read(12)) };
}

test('large replies that nobody reads are bounded, and are counted until their connection closes', async () => {
  const server = await startLarge({ body: LARGE });
  const unread = [await askUnread(server.port), await askUnread(server.port)];
  expect(unread.map(({ status }) => status)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  const refused = await server.get();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await refused.text()).toContain('have not been read');
  unread[0]?.socket.destroy();
  const readWhole = async () => (await (await server.get()).arrayBuffer()).byteLength;
  await until(async () => (await readWhole()) === LARGE.length, { what: 'memory given back' });
  // Replies that are read count no longer.
  for (let i = 0; i < 3; i++) expect(await readWhole()).toBe(LARGE.length);
});

test('a reply larger than the share of an organization is sent while it has no other', async () => {
  const server = await startLarge({ body: Buffer.alloc(120 * MIB, 'x') });
  expect((await (await server.get()).arrayBuffer()).byteLength).toBe(120 * MIB);
  await askUnread(server.port);
  expect((await server.get()).status).toBe(503);
});

test('a body that is held once for all requests does not count', async () => {
  const server = await startLarge({ body: LARGE, isShared: true });
  for (let i = 0; i < 4; i++) expect((await askUnread(server.port)).status).toBe('HTTP/1.1 200');
});

test('a client that reads nothing of a large reply is disconnected, and one that reads slowly is not', async () => {
  const server = await startLarge({ body: LARGE }, 500);
  const { socket: stalled } = await askUnread(server.port);
  const { socket: slow } = await askUnread(server.port);
  let bytes = 0;
  slow.on('data', (part) => {
    bytes += part.length;
    slow.pause();
    setTimeout(() => slow.resume(), 2);
  });
  await until(async () => bytes > LARGE.length, { what: 'the slow reader has everything' });
  // What the buffers hold arrives, and then the end of the connection.
  stalled.resume();
  await once(stalled, 'close');
  expect(stalled.bytesRead).toBeLessThan(LARGE.length);
});

test('memory of a refused reply is given back at once', async () => {
  let freed = 0;
  const server = await startLarge({ body: LARGE, freeBody: () => freed++ });
  await askUnread(server.port);
  await askUnread(server.port);
  expect((await server.get()).status).toBe(503);
  expect(freed).toBe(1);
});
