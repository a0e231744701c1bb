import { unlessAborted } from './unless-aborted.ts';

/** Signal that aborts with the caller's signal, or at the deadline. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Return the remaining milliseconds; 0 once the signal is aborted, since a timer may fire a little early. */
  leftMs(): number;
  /** Stop the timer and the listener. Call this when the work is done. */
  clear(): void;
}

/**
 * Start a deadline. Server code uses it in place of `AbortSignal.timeout`, whose timer cannot be cleared: a timer keeps
 * the request that started it, with its reply, in memory until it fires.
 *
 * @param reason makes the reason of the abort, by default a `TimeoutError`
 */
export function startDeadline(ms: number, parent?: AbortSignal, reason: () => unknown = timeoutError): Deadline {
  const controller = new AbortController();
  const endsAtMs = performance.now() + ms;
  const timer = setTimeout(() => controller.abort(reason()), ms);
  const follow = () => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  else parent?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    leftMs: () => (controller.signal.aborted ? 0 : Math.max(0, endsAtMs - performance.now())),
    clear() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', follow);
    },
  };
}

/**
 * Run work with a signal that aborts with `parent`, or with a `TimeoutError` after `ms` milliseconds. Work that ignores
 * its signal may outlast it.
 *
 * @throws what `work` throws; the signal's reason once it is aborted
 */
export async function runWithin<T>(
  ms: number,
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = startDeadline(ms, parent);
  try {
    return await unlessAborted(work(deadline.signal), deadline.signal);
  } finally {
    deadline.clear();
  }
}

function timeoutError(): DOMException {
  return new DOMException('The operation was aborted due to timeout', 'TimeoutError');
}
