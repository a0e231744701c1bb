import pLimit from 'p-limit';
import { AppError } from '../errors.ts';
import { checkKey, type NewObject, type Objects } from './objects.ts';

const AT_ONCE_MAX = 16;

/** Read objects concurrently, one request each. @see Objects.getMany */
export async function getEach(
  objects: Pick<Objects, 'get'>,
  keys: readonly string[],
  options: { maxBytes?: number; signal?: AbortSignal },
): Promise<(Uint8Array | null)[]> {
  keys.forEach(checkKey);
  return settle(
    keys.map((key) => () => {
      options.signal?.throwIfAborted();
      return objects.get(key, options).catch((error: unknown) => {
        if (error instanceof AppError && !error.retryable) return null;
        throw error;
      });
    }),
  );
}

/** Write objects concurrently, one request each. @see Objects.putMany */
export async function putEach(
  objects: Pick<Objects, 'put'>,
  written: readonly NewObject[],
  options: { signal?: AbortSignal },
): Promise<void> {
  for (const { key } of written) checkKey(key);
  await settle(
    written.map(({ key, bytes }) => () => {
      options.signal?.throwIfAborted();
      return objects.put(key, bytes, options);
    }),
  );
}

/** Delete the objects under each prefix, concurrently. */
export async function deleteEachPrefix(
  objects: Pick<Objects, 'deletePrefix'>,
  prefixes: readonly string[],
  options: { signal?: AbortSignal },
): Promise<void> {
  await settle(
    prefixes.map((prefix) => () => {
      options.signal?.throwIfAborted();
      return objects.deletePrefix(prefix, options);
    }),
  );
}

/** Wait for all calls, then throw the error of the first one that failed. No work continues in the background. */
async function settle<T>(works: readonly (() => Promise<T>)[]): Promise<T[]> {
  const limit = pLimit(AT_ONCE_MAX);
  const started = works.map((work) => limit(async () => work()));
  await Promise.allSettled(started);
  return Promise.all(started);
}
