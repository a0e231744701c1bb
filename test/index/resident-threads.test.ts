import { expect, it } from 'vitest';
import { RefusedTables } from '../../src/index/copies/refused-tables.ts';
import { ResidentThreads } from '../../src/resident/resident-threads.ts';

it('tables are given to threads in turn, and a table that is read again to the thread that it was in', async () => {
  const threads = new ResidentThreads(2);
  try {
    const [one, two, three] = [threads.of('one'), threads.of('two'), threads.of('three')];
    expect(two).not.toBe(one);
    expect(three).toBe(one);
    expect(threads.of('two')).toBe(two);
    await two.close();
    const next = threads.of('two');
    expect(next).not.toBe(two);
    expect([threads.of('one'), threads.of('four')]).toEqual([one, next]);
  } finally {
    await threads.close();
  }
});

it('the thread of the first table can be started before', async () => {
  const threads = new ResidentThreads(2);
  try {
    threads.prepare();
    const first = threads.of('one');
    threads.prepare();
    expect(threads.of('one')).toBe(first);
    expect(first.isEnded).toBe(false);
  } finally {
    await threads.close();
  }
});

it('a table is refused up to a version and for a time, and many refusals displace the oldest', () => {
  const refused = new RefusedTables();
  refused.add('one', 3, 60_000);
  expect([2, 3, 4].map((version) => refused.has('one', version))).toEqual([true, true, false]);
  refused.add('two', 3, -1);
  expect(refused.has('two', 3)).toBe(false);
  for (let nth = 0; nth < 1_000; nth++) refused.add(`other ${nth}`, 1, 60_000);
  expect([refused.has('one', 3), refused.has('other 0', 1), refused.has('other 999', 1)]).toEqual([false, true, true]);
});
