import { setImmediate } from 'node:timers/promises';

/** Map items in sequence, and yield to the event loop after every `atOnce` of them. */
export async function mapYielding<T, R>(items: readonly T[], atOnce: number, map: (item: T) => R): Promise<R[]> {
  const mapped: R[] = [];
  for (const item of items) {
    if (mapped.length > 0 && mapped.length % atOnce === 0) await setImmediate();
    mapped.push(map(item));
  }
  return mapped;
}
