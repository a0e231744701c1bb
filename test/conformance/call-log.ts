import { expect, test } from 'vitest';
import type { CallLog } from '../../src/channels/call-log.ts';
import { until } from '../support/until.ts';

/** Windows of the log: one longer than any test, and one short enough to wait for. */
export const LONG_WINDOW_MS = 600_000;
export const SHORT_WINDOW_MS = 1_500;

/** Define the tests of every driver of the log of calls. `open` returns two processes that share one log of 5 calls. */
export function describeCallLog(open: (windowMs: number) => readonly [CallLog, CallLog]): void {
  const takeMany = async (logs: readonly CallLog[], bot: string, count: number) => {
    const taken = await Promise.all(
      Array.from({ length: count }, (_, n) => (logs[n % logs.length] as CallLog).take('org_1', bot)),
    );
    return taken.filter(Boolean).length;
  };

  test('the log accepts exactly the limit of concurrent calls over both processes', async () => {
    expect(await takeMany(open(LONG_WINDOW_MS), 'burst', 60)).toBe(5);
    expect(await takeMany(open(LONG_WINDOW_MS), 'burst', 10)).toBe(0);
  });

  test('the log counts each bot of each organization separately', async () => {
    const logs = open(LONG_WINDOW_MS);
    expect(await takeMany(logs, 'one', 6)).toBe(5);
    expect(await takeMany(logs, 'two', 6)).toBe(5);
    expect(await logs[0].take('org_2', 'one')).toBe(true);
  });

  test('the log accepts a call again after earlier calls have left the window, and refused calls are not in it', async () => {
    const logs = open(SHORT_WINDOW_MS);
    await takeMany(logs, 'sliding', 5);
    await until(() => logs[0].take('org_1', 'sliding'), { everyMs: 50, what: 'room in the log' });
  });
}
