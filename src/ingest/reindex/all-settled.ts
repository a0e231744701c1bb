/** Wait for all promises, then throw the error of the first one that failed. Nothing goes on in the background. */
export async function allSettled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
