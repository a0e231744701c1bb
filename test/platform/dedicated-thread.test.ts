import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DedicatedThread } from '../../src/platform/dedicated-thread.ts';

interface Answer {
  readonly argument: unknown;
  readonly together: number;
}

let thread: DedicatedThread<unknown>;
beforeAll(() => {
  thread = new DedicatedThread(new URL('../support/counting-thread.ts', import.meta.url), 'counting');
});
afterAll(() => thread.close());

it('calls of one turn of the event loop are sent together, also those of its promises; later ones are not', async () => {
  const first = thread.call<Answer>(1);
  const chained = Promise.resolve().then(() => thread.call<Answer>(2));
  await setImmediate();
  const later = thread.call<Answer>(3);
  expect(await Promise.all([first, chained, later])).toEqual([
    { argument: 1, together: 2 },
    { argument: 2, together: 2 },
    { argument: 3, together: 1 },
  ]);
});

it('a call that cannot be sent fails alone, and buffers of the others are still moved', async () => {
  const moved = new Uint8Array([1, 2, 3]);
  const [before, unsendable, after] = await Promise.allSettled([
    thread.call<Answer>('before'),
    thread.call<Answer>(() => 'a function'),
    thread.call<Answer>(moved, [moved.buffer]),
  ]);
  expect(before).toMatchObject({ status: 'fulfilled', value: { argument: 'before' } });
  expect(unsendable).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching('cloned') } });
  expect(after).toMatchObject({ status: 'fulfilled', value: { argument: new Uint8Array([1, 2, 3]) } });
  expect(moved.byteLength).toBe(0);
});

it('calls that are not sent yet fail if the thread is closed, and so do those after', async () => {
  const closing = new DedicatedThread(new URL('../support/counting-thread.ts', import.meta.url), 'closing');
  const call = closing.call(1);
  const closed = closing.close();
  await expect(call).rejects.toThrow('the thread "closing" has ended');
  await closed;
  await expect(closing.call(2)).rejects.toThrow('the thread "closing" has ended');
});
