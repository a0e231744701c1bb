import { expect, test } from 'vitest';
import type { LogAnswer, RequestLog } from '../../src/usage/request-log.ts';

/** Define the tests that every driver of request logs must pass. @param open opens logs of two processes */
export function describeRequestLog(open: () => readonly [RequestLog, RequestLog]): void {
  test('a request log allows exactly the limit of concurrent requests to two processes', async () => {
    const logs = open();
    const answers: LogAnswer[] = await Promise.all(
      Array.from({ length: 120 }, async (_, n) => (logs[n % 2] as RequestLog).take('burst', 50)),
    );
    const allowed = answers.filter((answer) => answer.allowed);
    expect(allowed.map(({ count }) => count).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, n) => n + 1),
    );
    for (const { waitMs } of answers) expect(waitMs > 0 && waitMs <= 60_000).toBe(true);
  });

  test('a request log counts each key separately, and no refused requests', async () => {
    const [log] = open();
    expect(await log.take('one', 1)).toMatchObject({ allowed: true, count: 1 });
    for (let n = 0; n < 3; n++) expect(await log.take('one', 1)).toMatchObject({ allowed: false, count: 1 });
    expect(await log.take('other', 1)).toMatchObject({ allowed: true, count: 1 });
  });
}
