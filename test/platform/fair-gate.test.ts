import { expect, test } from 'vitest';
import { FairGate } from '../../src/platform/fair-gate.ts';

const NEVER = () => new AbortController().signal;

/** Start pieces of work that end by hand, and note the order in which they begin. */
function workOf(gate: FairGate) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    start: (owner: string, signal = NEVER) =>
      gate.run(
        owner,
        async () => {
          begun.push(owner);
          await new Promise<void>((resolve) => ends.push(resolve));
        },
        signal,
      ),
    endNext: async () => {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('free places go to the waiting owners in turn', async () => {
  const { begun, start, endNext } = workOf(new FairGate({ runningMax: 2, runningOfOneMax: 2, waitingOfOneMax: 10 }));
  const running = ['a', 'a', 'a', 'a', 'a', 'b', 'c', 'b'].map((owner) => start(owner));
  expect(begun).toEqual(['a', 'a']);
  for (let i = 0; i < 8; i++) await endNext();
  await Promise.all(running);
  expect(begun).toEqual(['a', 'a', 'a', 'b', 'c', 'a', 'b', 'a']);
});

test('an owner has at most its share, even while places are free', async () => {
  const { begun, start, endNext } = workOf(new FairGate({ runningMax: 3, runningOfOneMax: 2, waitingOfOneMax: 1 }));
  const running = [start('a'), start('a'), start('a')];
  await expect(start('a')).rejects.toMatchObject({ code: 'server_busy', status: 503 });
  running.push(start('b'));
  expect(begun).toEqual(['a', 'a', 'b']);
  for (let i = 0; i < 4; i++) await endNext();
  await Promise.all(running);
});

test('work that is aborted while it waits leaves the queue', async () => {
  const { begun, start, endNext } = workOf(new FairGate({ runningMax: 1, runningOfOneMax: 1, waitingOfOneMax: 2 }));
  const controller = new AbortController();
  const running = [start('a')];
  const waiting = start('a', () => controller.signal);
  running.push(start('a'));
  controller.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await endNext();
  await endNext();
  await Promise.all(running);
  expect(begun).toEqual(['a', 'a']);
});
