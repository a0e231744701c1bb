import { availableParallelism } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openThreads } from '../../src/platform/threads.ts';
import { until } from '../support/until.ts';

const MODULE = new URL('./thread-functions.ts', import.meta.url);
const CORES = Math.max(1, availableParallelism());
const GONE = new Error('the client went away');

let threads: ReturnType<typeof openThreads>;
beforeEach(() => {
  threads = openThreads();
});
afterEach(() => threads.close());

const counters = () => new Int32Array(new SharedArrayBuffer(8));
const release = (at: Int32Array) => {
  Atomics.store(at, 1, 1);
  Atomics.notify(at, 1);
};

/** Occupy all threads of the pool. @returns counters that release them, and their ends */
async function occupy() {
  const at = counters();
  const held = Array.from({ length: CORES }, () => threads.run(MODULE, 'hold', at));
  await until(async () => Atomics.load(at, 0) === CORES, { what: 'start of the calls' });
  return { at, held: Promise.all(held) };
}

test('a call returns the result of its function, or rejects with its error', async () => {
  expect(await threads.run(MODULE, 'busy', 1)).toBe(1);
  await expect(threads.run(MODULE, 'fail', 'no such word')).rejects.toThrow('no such word');
  expect(await threads.run(MODULE, 'busy', 2, { isLong: true })).toBe(2);
  await expect(threads.run(MODULE, 'fail', 'no such word', { isLong: true })).rejects.toThrow('no such word');
});

test('a call that is aborted before its turn never runs, and is not pending', async () => {
  const { at, held } = await occupy();
  const controller = new AbortController();
  const counted = counters();
  const aborted = threads.run(MODULE, 'count', counted, { signal: controller.signal });
  const other = threads.run<number>(MODULE, 'count', counted);
  expect(threads.load()).toEqual({ threadsMax: CORES, pending: CORES + 2 });
  controller.abort(GONE);
  await expect(aborted).rejects.toBe(GONE);
  expect(threads.load().pending).toBe(CORES + 1);
  release(at);
  expect([await other, await held]).toEqual([1, Array.from({ length: CORES }, () => 'released')]);
  await expect(threads.run(MODULE, 'count', counted, { signal: AbortSignal.abort(GONE) })).rejects.toBe(GONE);
  expect([Atomics.load(counted, 0), threads.load().pending]).toEqual([1, 0]);
});

test('a running call that is aborted rejects at once, and its thread takes the next call when it is done', async () => {
  const at = counters();
  const controller = new AbortController();
  const held = Array.from({ length: CORES }, () => threads.run(MODULE, 'hold', at, { signal: controller.signal }));
  const ends = Promise.allSettled(held);
  await until(async () => Atomics.load(at, 0) === CORES, { what: 'start of the calls' });
  const next = threads.run(MODULE, 'busy', 1);
  controller.abort(GONE);
  expect(await ends).toEqual(held.map(() => ({ status: 'rejected', reason: GONE })));
  expect(threads.load().pending).toBe(CORES + 1);
  release(at);
  expect(await next).toBe(1);
});

test('calls of others end well, however many are aborted beside them', async () => {
  const others: Promise<number>[] = [];
  for (let round = 0; round < 200; round++) {
    const controller = new AbortController();
    const aborted = threads.run(MODULE, 'busy', 1, { signal: controller.signal }).catch((reason) => reason);
    others.push(threads.run<number>(MODULE, 'busy', 0), threads.run<number>(MODULE, 'busy', 0));
    await threads.run(MODULE, 'busy', 0.9);
    controller.abort(GONE);
    expect([1, GONE]).toContain(await aborted);
  }
  expect(await Promise.all(others)).toEqual(others.map(() => 0));
});

test('a long call has a thread of its own, which an abort ends', async () => {
  const { at, held } = await occupy();
  const controller = new AbortController();
  const spun = counters();
  const long = threads.run(MODULE, 'spin', spun, { signal: controller.signal, isLong: true });
  await until(async () => Atomics.load(spun, 0) > 0, { what: 'start of the long call' });
  controller.abort(GONE);
  await expect(long).rejects.toBe(GONE);
  release(at);
  await held;
  await until(
    async () => {
      const before = Atomics.load(spun, 0);
      await threads.run(MODULE, 'busy', 20);
      return Atomics.load(spun, 0) === before;
    },
    { what: 'end of its thread' },
  );
});

test('an abort of a long call that its thread does not hear at once rejects at once', async () => {
  const controller = new AbortController();
  const at = counters();
  // Nobody releases it: like a call of the operating system that does not return.
  const long = threads.run(MODULE, 'hold', at, { signal: controller.signal, isLong: true });
  await until(async () => Atomics.load(at, 0) === 1, { what: 'start of the long call' });
  let isRejected = false;
  const rejected = long.catch((reason) => {
    isRejected = true;
    return reason;
  });
  controller.abort(GONE);
  await new Promise((resolve) => setImmediate(resolve));
  expect([isRejected, await rejected]).toEqual([true, GONE]);
  release(at);
});

test('closing rejects the calls that have not begun', async () => {
  const { at, held } = await occupy();
  const waiting = threads.run(MODULE, 'busy', 1);
  const rejected = expect(waiting).rejects.toThrow('closed before this call began');
  const ended = Promise.allSettled([held]);
  await threads.close();
  await rejected;
  release(at);
  await ended;
  expect(threads.load().pending).toBe(0);
});
