import { expect, test } from 'vitest';
import type { RateWindow, WindowAnswer } from '../../src/usage/rate-window.ts';

/** Define the tests that every driver of rate windows must pass. @param open opens windows of two processes */
export function describeRateWindow(open: () => readonly [RateWindow, RateWindow]): void {
  test('a rate window allows exactly the limit of concurrent requests to two processes', async () => {
    const windows = open();
    const answers: WindowAnswer[] = await Promise.all(
      Array.from({ length: 120 }, async (_, n) => (windows[n % 2] as RateWindow).take('burst', 50)),
    );
    const allowed = answers.filter((answer) => answer.allowed);
    // A window that ends in between allows a few more.
    const crossed = answers.some((answer) => answer.previous > 0);
    if (crossed) expect(allowed.length).toBeGreaterThanOrEqual(50);
    else expect(allowed.map((answer) => answer.current).sort((a, b) => a - b)).toEqual(range(1, 50));
    for (const { elapsedMs } of answers) {
      expect(elapsedMs).toBeGreaterThanOrEqual(0);
      expect(elapsedMs).toBeLessThan(60_000);
    }
  });

  test('a rate window counts each key separately, and no refused requests', async () => {
    const [window] = open();
    expect(await window.take('one', 1)).toMatchObject({ allowed: true });
    for (let n = 0; n < 3; n++) {
      const answer = await window.take('one', 1);
      expect(answer.allowed).toBe(false);
      expect(answer.previous + answer.current).toBe(1);
    }
    expect(await window.take('other', 1)).toMatchObject({ allowed: true, current: 1 });
  });
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}
