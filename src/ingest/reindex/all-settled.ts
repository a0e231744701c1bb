/** Wait for all promises to settle, then throw the first error. Nothing continues in the background. */
export async function allSettled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
