/** Item with its path, which several items of one place may have. */
interface Named {
  readonly id: string;
  readonly path: string;
}

/**
 * Give each item a key of its own: its path, and for all but the first of equal paths also its id before the extension.
 * The first is the one with the least id, so that keys do not depend on the order of a listing.
 */
export function keysOf<T extends Named>(items: readonly T[]): Map<string, T> {
  const keys = new Map<string, T>();
  for (const item of items.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const dot = item.path.lastIndexOf('.');
    const end = dot > item.path.lastIndexOf('/') ? dot : item.path.length;
    const unique = `${item.path.slice(0, end)} (${item.id})${item.path.slice(end)}`;
    keys.set(keys.has(item.path) ? unique : item.path, item);
  }
  return keys;
}
