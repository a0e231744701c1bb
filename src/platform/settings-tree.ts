/** Settings in the form of the file, before validation. */
export type Tree = { [key: string]: unknown };

/** Return the value at a path of keys in the tree, or undefined. */
export function valueAt(tree: Tree, keys: readonly string[]): unknown {
  let node: unknown = tree;
  // Items of a list are found by index.
  for (const key of keys) node = isTree(node) || Array.isArray(node) ? (node as Tree)[key] : undefined;
  return node;
}

/**
 * Replace every `${NAME}` in the strings of the tree by its value in `env`.
 * @param onMissing called with the name of a missing variable, and the path of the text
 */
export function interpolate(
  node: unknown,
  env: NodeJS.ProcessEnv,
  onMissing: (name: string, keys: readonly string[]) => void,
  keys: readonly string[] = [],
): unknown {
  if (typeof node === 'string') {
    return node.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const value = env[name];
      if (value === undefined) onMissing(name, keys);
      return value ?? '';
    });
  }
  if (Array.isArray(node))
    return node.map((item, index) => interpolate(item, env, onMissing, [...keys, String(index)]));
  if (node && typeof node === 'object') {
    const entries = Object.entries(node);
    return Object.fromEntries(entries.map(([key, value]) => [key, interpolate(value, env, onMissing, [...keys, key])]));
  }
  return node;
}

/** Merge trees recursively. Later trees take precedence. */
export function merge(...trees: Tree[]): Tree {
  const result: Tree = {};
  for (const tree of trees) {
    for (const [key, value] of Object.entries(tree)) {
      if (value === undefined) continue;
      const existing = result[key];
      result[key] = isTree(existing) && isTree(value) ? merge(existing, value) : value;
    }
  }
  return result;
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
