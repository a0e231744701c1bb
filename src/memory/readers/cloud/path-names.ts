/** Item with a path that need not be unique. */
interface Named {
  readonly id: string;
  readonly path: string;
}

/**
 * Give each item a unique key: its path. Among items with equal paths, all but the one with the smallest id get the id
 * inserted before the extension. Keys therefore don't depend on the order of a listing.
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
