import { expect, test } from 'vitest';
import { isSliced, slicedBody } from '../../server/sliced-body.ts';

const MIB = 1024 * 1024;
const bodyOf = (bytes: number, seed: number) =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, at) => at * 7 + seed));

async function collect(body: Buffer): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of slicedBody(body)) parts.push(part);
  return Buffer.concat(parts);
}

test('many bodies arrive whole, whatever their sizes', async () => {
  const bodies = [1, 64 * 1024, 64 * 1024 + 1, MIB, 3 * MIB + 5].map(bodyOf);
  const arrived = await Promise.all([...bodies, ...bodies].map(collect));
  expect(arrived.map((body, at) => body.equals(bodies[at % bodies.length] as Buffer))).toEqual(arrived.map(() => true));
});

test('other work goes on between the slices of many large bodies', async () => {
  const body = bodyOf(MIB, 1);
  let isDone = false;
  const sending = Promise.all(Array.from({ length: 50 }, () => collect(body))).then(() => {
    isDone = true;
  });
  let turns = 0;
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  await sending;
  // 800 slices, eight at once.
  expect(turns).toBeGreaterThanOrEqual(100);
});

test('a body that is read no further asks for no more turns', async () => {
  const stream = slicedBody(bodyOf(MIB, 2));
  stream.destroy();
  expect((await collect(bodyOf(MIB, 3))).length).toBe(MIB);
  expect(stream.destroyed).toBe(true);
});

test('only large bodies are sliced', () => {
  expect([isSliced(Buffer.alloc(64 * 1024)), isSliced(Buffer.alloc(64 * 1024 + 1))]).toEqual([false, true]);
});
