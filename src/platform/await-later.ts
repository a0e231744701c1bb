/** Mark a promise that is awaited later, or never, so that a rejection before that is not reported as unhandled. */
export function awaitLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
