/** Keep Node from reporting a rejection as unhandled if the promise is awaited later or never. */
export function awaitLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
