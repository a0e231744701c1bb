import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readLargeBody } from '../../../server/body/large-body.ts';

test('the parts of a large body are freed as soon as they are copied to their place', async () => {
  const parts: Buffer[] = [];
  const server = createServer(async (req, res) => {
    const reading = readLargeBody(req, { limitBytes: 16_000_000, memory: null });
    req.prependListener('data', (part: Buffer) => parts.push(part));
    const body = await reading;
    res.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const sent = Buffer.from(Array.from({ length: 5_000_000 }, (_, at) => at % 251));
  const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    method: 'POST',
    body: sent,
  });
  expect(Buffer.from(await reply.arrayBuffer()).equals(sent)).toBe(true);
  expect(parts.length).toBeGreaterThan(10);
  expect(parts.filter((part) => part.length > 0)).toEqual([]);
});
