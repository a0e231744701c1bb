/** A promise that is awaited later, if at all: that it fails is no news before. */
export function awaitLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
