import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { compileGlobs, globFault } from '../../../src/memory/readers/globs.ts';

const matches = (glob: string, path: string) => compileGlobs({ include: [glob] }).matches(path);

test.each([
  ['**/*.md', 'a.md', true],
  ['**/*.md', 'docs/deep/a.md', true],
  ['*.md', 'docs/a.md', false],
  ['docs/**', 'docs/a/b.txt', true],
  ['docs/**/b.txt', 'docs/b.txt', true],
  ['a*b?.t[xy]t', 'a--b1.txt', true],
  ['a*b?.t[xy]t', 'a--b.txt', false],
  ['[!a-c]*', 'd1', true],
  ['[!a-c]*', 'b1', false],
  ['*.{md,txt}', 'a.txt', true],
  ['{docs,notes/{old,new}}/*', 'notes/new/a', true],
  ['{docs}/*', '{docs}/a', true],
  ['./*.md', 'a.md', true],
  ['a\\*b', 'a*b', true],
  ['a\\*b', 'axb', false],
  ['**', '.git/config', false],
  ['.git/**', '.git/config', true],
  ['**/.env', 'a/.env', true],
  ['*', '.env', false],
  ['caf\u00e9/*', 'cafe\u0301/a', true],
  ['\u1112\u1161\u11ab*', '한글.md', true],
])('%s on %s: %s', (glob, path, expected) => {
  expect(matches(glob, path)).toBe(expected);
});

test('an excluding pattern also matches hidden names, and tells which folders need not be read', () => {
  const globs = compileGlobs({ exclude: ['node_modules/**', '*.tmp'] });
  expect(globs.matches('a.tmp')).toBe(false);
  expect(globs.matches('a.md')).toBe(true);
  expect(globs.excludesFolder('node_modules')).toBe(true);
  expect(globs.excludesFolder('src')).toBe(false);
  expect(compileGlobs({ include: ['**', '.*'], exclude: ['*.tmp'] }).matches('.a.tmp')).toBe(false);
});

test('it agrees with picomatch on patterns and paths of every shape', () => {
  const piece = fc.constantFrom('a', 'b', '.', '*', '?', '[ab]', '[^a]', 'ab');
  const segment = fc.oneof(
    { weight: 4, arbitrary: fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join('')) },
    { weight: 1, arbitrary: fc.constant('**') },
  );
  const glob = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'));
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), minLength: 1, maxLength: 4 });
  // Names of only dots are no names of files.
  const path = fc.array(
    name.filter((each) => !/^\.+$/.test(each)),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(glob, path, (pattern, segments) => {
      // Segments of one dot, and rules of picomatch alone: several stars in a segment, dots before wildcards, `[^a]` for a leading dot, and
      // `*/**` without a second segment.
      fc.pre(
        !/[^/]\*\*|\*\*[^/]|(^|\/)\.+[*?[]|(^|\/)[*?[][^/]*\.\.|(^|\/)\[\^|(^|\/)\.(\/|$)|[*?\]]\/\*\*/.test(pattern),
      );
      const options = { noextglob: true, nonegate: true, strictSlashes: false, fastpaths: false };
      expect(matches(pattern, segments.join('/'))).toBe(picomatch(pattern, options)(segments.join('/')));
    }),
    { numRuns: 3_000 },
  );
});

test('a pattern of many stars takes time in proportion to the name', () => {
  const glob = `${'a*'.repeat(90)}b`;
  const name = 'a'.repeat(1_000);
  expect(matches(glob, name)).toBe(false);
  expect(matches(`**/${'*a'.repeat(8)}b/**/x`, `${'a'.repeat(255)}/`.repeat(4))).toBe(false);
});

test('braces that stand for too many patterns are refused', () => {
  expect(globFault('{a,b}'.repeat(6))).toBeNull();
  expect(globFault('{a,b}'.repeat(7))).toContain('at most 64');
  expect(globFault('{a,b}'.repeat(40))).toContain('at most 64');
});
