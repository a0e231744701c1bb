export interface RetryPolicy {
  /** Maximum number of attempts after the first. */
  readonly retriesMax: number;
  /** Upper limit of the first random backoff. It doubles with each retry. */
  readonly baseMs: number;
  readonly capMs: number;
  /**
   * Longest wait within a call. If the vendor asks for more, there is no retry, since the caller has a deadline or a
   * fallback, and the endpoint gets no calls for as long as the vendor asked.
   */
  readonly serverDelayMaxMs: number;
  /** Return a random number in [0, 1). */
  readonly random: () => number;
}

export const RETRY_DEFAULTS = { baseMs: 200, capMs: 5_000, serverDelayMaxMs: 10_000 } as const;

/**
 * Compute the exponential backoff with full jitter: uniform in [0, min(cap, base x 2^retry)). A delay stated by the
 * server is kept in full and the jitter is added to it, so that clients with equal delays don't all retry at once.
 * @param retry 0 for the first retry
 * @returns milliseconds to wait before the retry, or null if there must be none
 */
export function retryDelayMs(policy: RetryPolicy, retry: number, serverDelayMs: number | null): number | null {
  if (retry >= policy.retriesMax) return null;
  const backoffMs = policy.random() * Math.min(policy.capMs, policy.baseMs * 2 ** retry);
  if (serverDelayMs === null) return backoffMs;
  return serverDelayMs > policy.serverDelayMaxMs ? null : serverDelayMs + Math.min(backoffMs, policy.baseMs);
}

/** @throws the signal's reason when it aborts */
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
