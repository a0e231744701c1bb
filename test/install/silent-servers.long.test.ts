import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { checkDatabase, checkRedis } from '../../src/install/check-dependencies.ts';

/** Accept connections and never answer. */
async function listenSilently(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).resume());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as { port: number }).port;
}

test('a database that accepts connections and never answers is refused by the check of install.sh', async () => {
  expect(await checkDatabase(`postgres://u:geheim@127.0.0.1:${await listenSilently()}/d`)).toEqual({
    exitCode: 5,
    message: expect.stringMatching(/^PostgreSQL at \S+ \(--database-url\) cannot be used: [^\n]+$/),
  });
});

test('a Redis that accepts connections and never answers is refused by the check of install.sh', async () => {
  expect(await checkRedis(`redis://:geheim@127.0.0.1:${await listenSilently()}`)).toEqual({
    exitCode: 5,
    message: expect.stringMatching(/^Redis at \S+ \(REDIS_URL\) cannot be used: [^\n]+$/),
  });
});
