/** Settings as they are written, before anything is known of their meaning. */
export type Tree = { [key: string]: unknown };

/** What stands at a place in the tree; undefined where nothing does. */
export function valueAt(tree: Tree, place: readonly string[]): unknown {
  let node: unknown = tree;
  // Items of a list are found by their place in it.
  for (const key of place) node = isTree(node) || Array.isArray(node) ? (node as Tree)[key] : undefined;
  return node;
}

/** The tree with every `${NAME}` in its texts replaced from `env`; a name that is not set becomes a fault. */
export function interpolate(node: unknown, env: NodeJS.ProcessEnv, faults: string[]): unknown {
  if (typeof node === 'string') {
    return node.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const value = env[name];
      if (value === undefined) faults.push(`service.yaml: \${${name}} is not set in the environment`);
      return value ?? '';
    });
  }
  if (Array.isArray(node)) return node.map((item) => interpolate(item, env, faults));
  if (node && typeof node === 'object') {
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, interpolate(value, env, faults)]));
  }
  return node;
}

/** One tree of several, the later ones winning value by value. */
export function merge(...trees: Tree[]): Tree {
  const result: Tree = {};
  for (const tree of trees) {
    for (const [key, value] of Object.entries(tree)) {
      if (value === undefined) continue;
      const before = result[key];
      result[key] = isTree(before) && isTree(value) ? merge(before, value) : value;
    }
  }
  return result;
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
