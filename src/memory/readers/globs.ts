import picomatch from 'picomatch';

export interface Globs {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/** Options that exclude syntax whose expressions can take exponential time. */
const OPTIONS = { noextglob: true, nonegate: true, strictSlashes: false } as const;

/**
 * Compile patterns into a test of a path with `/` between its parts. Without `include`, every path matches unless it
 * has a hidden part (one that begins with a dot).
 */
export function compileGlobs({ include = ['**'], exclude = [] }: Globs): {
  matches(path: string): boolean;
  /** Return true if no path below this folder can match. */
  excludesFolder(path: string): boolean;
} {
  const included = include.map((glob) => picomatch(glob, OPTIONS));
  const excluded = exclude.map((glob) => picomatch(glob, { ...OPTIONS, dot: true }));
  const isExcluded = (path: string) => excluded.some((isMatch) => isMatch(path));
  return {
    matches: (path) => included.some((isMatch) => isMatch(path)) && !isExcluded(path),
    excludesFolder: (path) => excluded.some((isMatch) => isMatch(path) && isMatch(`${path}/x`)),
  };
}
