import { setTimeout as delay } from 'node:timers/promises';

/** Wait for an answer of another service. @throws Error if it takes longer than `ms` milliseconds; what `answer` throws */
export async function answerWithin<T>(ms: number, answer: PromiseLike<T>): Promise<T> {
  const timer = new AbortController();
  const late = delay(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    timer.abort();
  }
}
