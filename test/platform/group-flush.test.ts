import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { GroupFlusher } from '../../src/platform/objects/group-flush.ts';

const COUNT = 200;

/** Flush many things at once. @returns number of those that were flushed one by one */
async function flushMany(flusher: GroupFlusher): Promise<number> {
  let alone = 0;
  const flush = async () => {
    alone++;
    await new Promise((resolve) => setImmediate(resolve));
  };
  await Promise.all(Array.from({ length: COUNT }, () => flusher.flush(flush)));
  return alone;
}

it('many files that are flushed at the same time share calls, and a single file is flushed by itself', async () => {
  let calls = 0;
  let alone = 0;
  const gate = Promise.withResolvers<void>();
  const flusher = new GroupFlusher(tmpdir(), async () => async () => {
    calls++;
  });
  const flush = async () => {
    alone++;
    await gate.promise;
  };
  const flushes = Array.from({ length: COUNT }, () => flusher.flush(flush));
  // The first ones are still being flushed by themselves.
  await flushes.at(-1);
  expect({ calls, alone }).toEqual({ calls: 2, alone: 4 });
  gate.resolve();
  await Promise.all(flushes);
  await flusher.flush(flush);
  expect({ calls, alone }).toEqual({ calls: 2, alone: 5 });
});

it('many files that are flushed by one request share a call', async () => {
  let calls = 0;
  const flusher = new GroupFlusher(tmpdir(), async () => async () => {
    calls++;
  });
  const alone = () => Promise.reject(new Error('flushed by itself'));
  await flusher.flush(alone, COUNT);
  await Promise.all([flusher.flush(alone, COUNT), flusher.flush(alone, COUNT), flusher.flush(alone, 2)]);
  expect(calls).toBe(3);
  await expect(new GroupFlusher(tmpdir(), async () => null).flush(alone, COUNT)).rejects.toThrow('flushed by itself');
});

it.each([
  ['cannot be loaded', () => Promise.reject(new Error('no such function'))],
  ['does not exist', async () => null],
  ['fails', async () => () => Promise.reject(new Error('an error of the disk'))],
])('every file is flushed by itself where the flush of the file system %s', async (_, load) => {
  expect(await flushMany(new GroupFlusher(tmpdir(), load))).toBe(COUNT);
});

it('a file that cannot be flushed fails alone', async () => {
  const flusher = new GroupFlusher(tmpdir(), async () => null);
  const flushes = Array.from({ length: COUNT }, (_, n) =>
    flusher.flush(async () => {
      if (n === 77) throw new Error('an error of the disk');
    }),
  );
  const failed = (await Promise.allSettled(flushes)).flatMap(({ status }, n) => (status === 'rejected' ? [n] : []));
  expect(failed).toEqual([77]);
});

it('files are flushed by the file system of this machine', async () => {
  expect(await flushMany(new GroupFlusher(tmpdir()))).toBeLessThanOrEqual(COUNT);
});
