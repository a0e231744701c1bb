/** Wait for all promises, and then throw what the first failed one threw: nothing goes on in the background. */
export async function allSettled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
