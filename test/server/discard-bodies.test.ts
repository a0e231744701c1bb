import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { DiscardQueue } from '../../server/discard-bodies.ts';
import { until } from '../support/until.ts';

/** Open connections, each as the client and the server have it. */
async function openPairs(count: number): Promise<{ client: Socket; own: Socket }[]> {
  const server = createServer({ pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pairs: { client: Socket; own: Socket }[] = [];
  for (let i = 0; i < count; i++) {
    const accepted = once(server, 'connection');
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    const [own] = (await accepted) as [Socket];
    pairs.push({ client, own: own.on('error', () => undefined) });
  }
  onTestFinished(() => {
    for (const { client, own } of pairs) {
      client.destroy();
      own.destroy();
    }
    server.close();
  });
  return pairs;
}

test('connections are read one at a time, and each to its end', async () => {
  const pairs = await openPairs(3);
  const bytes = 4 * 1024 * 1024;
  const received = new Map<Socket, number>();
  let overlaps = 0;
  for (const { client, own } of pairs) {
    own.on('data', (chunk) => {
      received.set(own, (received.get(own) ?? 0) + chunk.length);
      // One that was closed during its turn is not paused any more.
      const others = pairs.filter((other) => other.own !== own && !other.own.destroyed);
      if (others.some((other) => !other.own.isPaused())) overlaps++;
    });
    own.pause();
    client.end(Buffer.alloc(bytes));
  }
  const queue = new DiscardQueue();
  for (const { own } of pairs) queue.add(own);
  await until(async () => pairs.every(({ own }) => received.get(own) === bytes));
  expect(overlaps).toBe(0);
});

test('connections that are closed leave the queue, and later ones are read', async () => {
  const [gone, later] = (await openPairs(2)) as [{ client: Socket; own: Socket }, { client: Socket; own: Socket }];
  const queue = new DiscardQueue();
  queue.add(gone.own);
  const closed = once(gone.own, 'close');
  gone.own.destroy();
  queue.add(gone.own);
  await closed;
  let received = 0;
  later.own.on('data', (chunk) => {
    received += chunk.length;
  });
  later.own.pause();
  queue.add(later.own);
  later.client.write('rest of a body');
  await until(async () => received > 0);
});
