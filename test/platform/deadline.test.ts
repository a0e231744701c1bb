import { expect, test } from 'vitest';
import { runWithin, startDeadline } from '../../src/platform/deadline.ts';

const aborted = (signal: AbortSignal) =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

test('work that takes too long gets a TimeoutError', async () => {
  await expect(runWithin(1, undefined, aborted)).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('work gets the reason of its caller, also of one that left before', async () => {
  const caller = new AbortController();
  const work = runWithin(60_000, caller.signal, aborted);
  caller.abort(new Error('left'));
  await expect(work).rejects.toThrow('left');
  await expect(runWithin(60_000, caller.signal, aborted)).rejects.toThrow('left');
});

test('work that ends in time leaves no timer and no listener', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const caller = new AbortController();
  let own: AbortSignal | undefined;
  const result = await runWithin(60_000, caller.signal, async (signal) => {
    own = signal;
    expect(timers()).toBe(before + 1);
    return 1;
  });
  caller.abort();
  expect(result).toBe(1);
  expect(own?.aborted).toBe(false);
  expect(timers()).toBe(before);
});

test('a deadline tells how much time is left, and aborts with its own reason', async () => {
  const deadline = startDeadline(5, undefined, () => new Error('late'));
  expect(deadline.leftMs()).toBeLessThanOrEqual(5);
  await expect(aborted(deadline.signal)).rejects.toThrow('late');
  expect(deadline.leftMs()).toBe(0);
});
