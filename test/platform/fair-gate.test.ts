import { expect, test } from 'vitest';
import { FairGate, type Place } from '../../src/platform/fair-gate.ts';

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

/** Make a gate of eight shared places, whose clock is set by hand. */
function sharedGate() {
  const clock = { nowMs: 0 };
  const shared = { places: 8, activeMs: 1_000, now: () => clock.nowMs };
  return { clock, gate: new FairGate({ runningMax: 12, runningOfOneMax: 10, waitingOfOneMax: 100, shared }) };
}

function countOf(begun: readonly string[], owner: string): number {
  return begun.filter((each) => each === owner).length;
}

test('owners that are active at the same time divide the shared places, and one that is active alone has its whole share', async () => {
  const { gate, clock } = sharedGate();
  const { begun, start, endNext } = workOf(gate);
  const running = Array.from({ length: 40 }, () => start('a'));
  expect(begun.length).toBe(10);
  running.push(start('b'), start('b'));
  expect(countOf(begun, 'b')).toBe(2);
  // Of the ten of `a`, none is followed by another one until it has four, its half.
  for (let i = 0; i < 6; i++) await endNext();
  expect(countOf(begun, 'a')).toBe(10);
  await endNext();
  expect(countOf(begun, 'a')).toBe(11);
  running.push(start('c'));
  expect(countOf(begun, 'c')).toBe(1);
  for (let i = 0; i < 3; i++) await endNext();
  expect(countOf(begun, 'a')).toBe(11 + 1);
  for (let i = 0; i < 3; i++) await endNext();
  clock.nowMs = 2_000;
  await endNext();
  // Nobody else was active for a while.
  expect(begun.length - 14).toBeGreaterThanOrEqual(10);
  for (let i = 0; i < 43; i++) await endNext();
  await Promise.all(running);
});

test('an owner has a place however many others are active', async () => {
  const { gate } = sharedGate();
  const { begun, start, endNext } = workOf(gate);
  const owners = Array.from({ length: 12 }, (_, nth) => `owner ${nth}`);
  const running = [...owners, ...owners].map((owner) => start(owner));
  expect(begun).toEqual(owners);
  for (let i = 0; i < 24; i++) await endNext();
  await Promise.all(running);
  expect(begun).toEqual([...owners, ...owners]);
});

test('work that waits for another service leaves its place to other work, and comes back before work that has not begun', async () => {
  const { gate } = sharedGate();
  const { begun, start, endNext } = workOf(gate);
  const answers: (() => void)[] = [];
  const asking = (place: Place) =>
    place.leaveFor(() => new Promise<void>((resolve) => answers.push(resolve))).then(() => begun.push('back'));
  const running: Promise<unknown>[] = [start('other')];
  // Of four places of its own, two are left by work that asks.
  running.push(gate.run('a', asking, NEVER), gate.run('a', asking, NEVER));
  running.push(...Array.from({ length: 5 }, () => start('a')));
  expect(begun).toEqual(['other', 'a', 'a', 'a', 'a']);
  for (const answer of answers) answer();
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun.length).toBe(5);
  await endNext();
  await endNext();
  expect(begun.slice(5)).toEqual(['back', 'back', 'a']);
  for (let i = 0; i < 4; i++) await endNext();
  await Promise.all(running);
});

test('work that ends or is aborted before it is back leaves no place taken', async () => {
  const { gate, clock } = sharedGate();
  const { begun, start, endNext } = workOf(gate);
  const running: Promise<unknown>[] = [start('other')];
  const answer = Promise.withResolvers<void>();
  const abort = new AbortController();
  const failing = gate.run(
    'a',
    async (place) => {
      place.leaveFor(() => answer.promise).catch(() => undefined);
      throw new Error('failed meanwhile');
    },
    NEVER,
  );
  await expect(failing).rejects.toThrow('failed meanwhile');
  const aborted = gate.run(
    'a',
    (place) => place.leaveFor(() => answer.promise),
    () => abort.signal,
  );
  running.push(...Array.from({ length: 4 }, () => start('a')));
  answer.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  abort.abort(new Error('gone'));
  await expect(aborted).rejects.toThrow('gone');
  for (let i = 0; i < 5; i++) await endNext();
  await Promise.all(running);
  clock.nowMs = 2_000;
  const again = Array.from({ length: 11 }, () => start('a'));
  expect(countOf(begun, 'a')).toBe(4 + 10);
  for (let i = 0; i < 11; i++) await endNext();
  await Promise.all(again);
});
