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
    let key = item.path;
    while (keys.has(key)) key = withId(key, item.id);
    keys.set(key, item);
  }
  return keys;
}

function withId(path: string, id: string): string {
  const dot = path.lastIndexOf('.');
  const end = dot > path.lastIndexOf('/') ? dot : path.length;
  return `${path.slice(0, end)} (${id})${path.slice(end)}`;
}
