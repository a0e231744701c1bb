/** Mark a promise that is awaited later, or never, so that an earlier rejection is not reported as unhandled. */
export function awaitLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
