import { setTimeout as delay } from 'node:timers/promises';

/**
 * Wait for an answer of another service.
 *
 * @throws what `answer` throws; what `makeError` makes, by default an Error, if it takes longer than `ms` milliseconds
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
