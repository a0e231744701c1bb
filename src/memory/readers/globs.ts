export interface Globs {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/** Maximum number of patterns that the braces of a glob may expand to. */
const ALTERNATIVES_MAX = 64;

/** Predicate for a single character in a path segment. */
type CharacterTest = (character: string) => boolean;

/** Part of a segment pattern: any number of characters, or one character. */
type Token = 'star' | CharacterTest;

/** Pattern for one path segment, or for any number of segments (`**`). */
type SegmentPattern = 'globstar' | { readonly tokens: readonly Token[]; readonly isHiddenNamed: boolean };

/**
 * Compile globs to a predicate on `/`-separated paths: `*`, `**`, `?`, `[a-z]`, `[!a]`, `{a,b}`, and `\` before a
 * literal character. Without `include`, match every path that has no hidden segment (starting with a dot). Composed and
 * decomposed characters are equal.
 *
 * Matching takes time proportional to path length times pattern length at most. A regular expression with several stars
 * could take exponential time.
 */
export function compileGlobs({ include = ['**'], exclude = [] }: Globs): {
  matches(path: string): boolean;
  /** Return true if `exclude` matches a path. */
  excludes(path: string): boolean;
  /** Return true if no path below this folder can match. */
  excludesFolder(path: string): boolean;
} {
  const included = include.flatMap((glob) => compileGlob(glob, false));
  const excluded = exclude.map((glob) => compileGlob(glob, true));
  const isExcluded = (segments: readonly string[]) => excluded.some((tests) => tests.some((test) => test(segments)));
  return {
    matches(path) {
      const segments = segmentsOf(path);
      return included.some((test) => test(segments)) && !isExcluded(segments);
    },
    excludes: (path) => isExcluded(segmentsOf(path)),
    excludesFolder(path) {
      const segments = segmentsOf(path);
      const inside = [...segments, 'x'];
      return excluded.some((tests) => tests.some((test) => test(segments)) && tests.some((test) => test(inside)));
    },
  };
}

/** Describe the fault of a glob, or return null. */
export function globFault(glob: string): string | null {
  return expandBraces(glob) === null ? `its braces must expand to at most ${ALTERNATIVES_MAX} patterns` : null;
}

function segmentsOf(path: string): string[] {
  return path.normalize('NFC').split('/');
}

/** Compile a glob to one predicate per pattern that its braces expand to. @throws Error if it has a `globFault` */
function compileGlob(glob: string, matchesHidden: boolean): ((segments: readonly string[]) => boolean)[] {
  const alternatives = expandBraces(glob.normalize('NFC'));
  // Matching nothing instead would let the source read what `exclude` should exclude.
  if (alternatives === null) throw new Error(`the glob ${glob} stands for too many patterns`);
  return alternatives.map((alternative) => {
    const patterns = alternative
      .split('/')
      .filter((segment) => segment !== '.')
      .map(compileSegment);
    return (segments) =>
      matchSequence(
        segments,
        patterns,
        (pattern) => pattern === 'globstar',
        (segment) => matchesHidden || !segment.startsWith('.'),
        (segment, pattern) => pattern !== 'globstar' && matchSegment(segment, pattern, matchesHidden),
      );
  });
}

function matchSegment(
  segment: string,
  { tokens, isHiddenNamed }: Exclude<SegmentPattern, 'globstar'>,
  matchesHidden: boolean,
): boolean {
  if (segment.startsWith('.') && !matchesHidden && !isHiddenNamed) return false;
  return matchSequence(
    [...segment],
    tokens,
    (token) => token === 'star',
    () => true,
    (character, token) => token !== 'star' && token(character),
  );
}

/**
 * Match a sequence against patterns, some of which match any number of items. On a mismatch, extend only the last of
 * those by one item: an earlier one couldn't help, since the last one can match the same items.
 * @param mayTake returns false for an item that such a pattern must not match
 */
function matchSequence<Item, Pattern>(
  items: readonly Item[],
  patterns: readonly Pattern[],
  isMany: (pattern: Pattern) => boolean,
  mayTake: (item: Item) => boolean,
  matchesOne: (item: Item, pattern: Pattern) => boolean,
): boolean {
  let item = 0;
  let pattern = 0;
  let lastMany = -1;
  let takenUntil = 0;
  while (item < items.length) {
    const current = patterns[pattern];
    if (current !== undefined && isMany(current)) {
      lastMany = pattern++;
      takenUntil = item;
    } else if (current !== undefined && matchesOne(items[item] as Item, current)) {
      item++;
      pattern++;
    } else if (lastMany >= 0 && mayTake(items[takenUntil] as Item)) {
      item = ++takenUntil;
      pattern = lastMany + 1;
    } else return false;
  }
  return patterns.slice(pattern).every(isMany);
}

function compileSegment(text: string): SegmentPattern {
  if (text === '**') return 'globstar';
  const characters = [...text];
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string;
    if (character === '*') {
      if (tokens.at(-1) !== 'star') tokens.push('star');
    } else if (character === '?') tokens.push(() => true);
    else if (character === '[' && characters.indexOf(']', at + 2) > 0) {
      const end = characters.indexOf(']', at + 2);
      tokens.push(compileClass(characters.slice(at + 1, end)));
      at = end;
    } else {
      const literal = character === '\\' ? (characters[++at] ?? '\\') : character;
      tokens.push((candidate) => candidate === literal);
    }
  }
  return { tokens, isHiddenNamed: text.startsWith('.') || text.startsWith('\\.') };
}

/** Compile the content of `[…]`: characters and ranges, or all other characters after `!` or `^`. */
function compileClass(inside: readonly string[]): CharacterTest {
  const isNegated = inside[0] === '!' || inside[0] === '^';
  const members = isNegated ? inside.slice(1) : inside;
  const ranges: [from: string, to: string][] = [];
  for (let at = 0; at < members.length; at++) {
    const from = members[at] as string;
    const isRange = members[at + 1] === '-' && at + 2 < members.length;
    ranges.push([from, isRange ? (members[at + 2] as string) : from]);
    if (isRange) at += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

/** Expand `{a,b}`, including nested braces. Return null if there are too many patterns. */
function expandBraces(glob: string): string[] | null {
  const open = findOpening(glob);
  if (open === null) return [glob];
  const { start, end, commas } = open;
  const bounds = [start, ...commas, end];
  const expanded: string[] = [];
  for (let nth = 0; nth + 1 < bounds.length; nth++) {
    const choice = glob.slice((bounds[nth] as number) + 1, bounds[nth + 1]);
    const rest = expandBraces(glob.slice(0, start) + choice + glob.slice(end + 1));
    if (rest === null || expanded.length + rest.length > ALTERNATIVES_MAX) return null;
    expanded.push(...rest);
  }
  return expanded;
}

/** Find the first balanced `{…}` with a comma at its own nesting level. */
function findOpening(glob: string): { start: number; end: number; commas: number[] } | null {
  const opened: { start: number; commas: number[] }[] = [];
  let found: { start: number; end: number; commas: number[] } | null = null;
  for (let at = 0; at < glob.length; at++) {
    const character = glob[at];
    if (character === '\\') at++;
    else if (character === '{') opened.push({ start: at, commas: [] });
    else if (character === ',') opened.at(-1)?.commas.push(at);
    else if (character === '}') {
      const last = opened.pop();
      if (last !== undefined && last.commas.length > 0 && (found === null || last.start < found.start)) {
        found = { ...last, end: at };
      }
    }
  }
  return found;
}
