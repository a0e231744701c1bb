import { describe, expect, it } from 'vitest';
import { type RetryPolicy, retryDelayMs, waitMs } from '../../../src/platform/upstream/retry.ts';

const POLICY: RetryPolicy = { retriesMax: 6, baseMs: 100, capMs: 1_000, serverDelayMaxMs: 5_000, random: () => 0.5 };

describe('retryDelayMs', () => {
  it('the backoff is drawn from a range that doubles up to its cap', () => {
    const delays = [0, 1, 2, 3, 4, 5].map((retry) => retryDelayMs(POLICY, retry, null));
    expect(delays).toEqual([50, 100, 200, 400, 500, 500]);
  });

  it('the backoff is drawn from the whole range', () => {
    expect(retryDelayMs({ ...POLICY, random: () => 0 }, 3, null)).toBe(0);
    expect(retryDelayMs({ ...POLICY, random: () => 0.999 }, 3, null)).toBeCloseTo(799.2);
  });

  it('there is no retry after the maximum number of retries', () => {
    expect(retryDelayMs(POLICY, 6, null)).toBeNull();
    expect(retryDelayMs({ ...POLICY, retriesMax: 0 }, 0, null)).toBeNull();
  });

  it('a delay stated by the server is kept in full', () => {
    for (const random of [0, 0.5, 0.999]) {
      const delay = retryDelayMs({ ...POLICY, random: () => random }, 4, 2_000);
      expect(delay).toBeGreaterThanOrEqual(2_000);
      expect(delay).toBeLessThanOrEqual(2_100);
    }
  });

  it('there is no retry if the server asks for a longer delay than the maximum', () => {
    expect(retryDelayMs(POLICY, 0, 5_001)).toBeNull();
  });
});

describe('waitMs', () => {
  it('an aborted wait rejects with the reason of the signal', async () => {
    const controller = new AbortController();
    const waiting = waitMs(60_000, controller.signal);
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(waitMs(60_000, controller.signal)).rejects.toThrow('gone');
  });
});
