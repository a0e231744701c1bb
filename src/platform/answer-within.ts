import { setTimeout as delay } from 'node:timers/promises';

/**
 * Wait for another service's answer, for at most `ms` milliseconds.
 * @throws the error of `answer`; after `ms`, the error of `makeError` (by default a plain Error)
 */
export async function answerWithin<T>(
  ms: number,
  answer: PromiseLike<T>,
  makeError = () => new Error(`no answer within ${ms} ms`),
): Promise<T> {
  const timer = new AbortController();
  const late = delay(ms, undefined, { signal: timer.signal }).then(() => {
    throw makeError();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    timer.abort();
  }
}
