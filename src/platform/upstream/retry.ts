export interface RetryPolicy {
  /** Tries after the first. */
  readonly retriesMax: number;
  /** The first backoff is drawn below this; each later one below its double. */
  readonly baseMs: number;
  readonly capMs: number;
  /** A vendor that asks for a longer wait is given up at once: whoever waits has a deadline, or another provider. */
  readonly serverDelayMaxMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

export const RETRY_DEFAULTS = { baseMs: 200, capMs: 5_000, serverDelayMaxMs: 10_000 } as const;

/**
 * Exponential backoff with full jitter: uniform in [0, min(cap, base x 2^retry)). Where the server states a delay of
 * its own it is kept in full, and the jitter comes on top, so that clients told the same do not come back together.
 *
 * @param retry 0 for the first retry
 * @returns milliseconds to wait before it, or null: do not try again
 */
export function retryDelayMs(policy: RetryPolicy, retry: number, serverDelayMs: number | null): number | null {
  if (retry >= policy.retriesMax) return null;
  const backoffMs = policy.random() * Math.min(policy.capMs, policy.baseMs * 2 ** retry);
  if (serverDelayMs === null) return backoffMs;
  return serverDelayMs > policy.serverDelayMaxMs ? null : serverDelayMs + Math.min(backoffMs, policy.baseMs);
}

/** @throws the signal's reason once it is aborted */
export function waitMs(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
