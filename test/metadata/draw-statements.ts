/** Arbitraries of fast-check for statements of the whole grammar. */
import fc from 'fast-check';
import { createRandom } from '../support/random.ts';
import { type Key, keyword, type Literal, print, space, type Tree } from './interpreter.ts';
import { FIELD_NAMES, FIELD_TEXTS, TEXTS, USER_KEYS } from './sample-documents.ts';

/** Keys that must be quoted, since they are keywords, names of fields or no words. */
export const QUOTED = new Set(['limit', 'in', 'id', 'created_at', '7']);

const key: fc.Arbitrary<Key> = fc.oneof(
  fc.constantFrom(...FIELD_NAMES).map((name) => ({ name, quoted: false })),
  fc
    .tuple(fc.constantFrom(...USER_KEYS), fc.boolean())
    .map(([name, quoted]) => ({ name, quoted: quoted || QUOTED.has(name) })),
);

/** Text without control characters and lone surrogates. */
const anyText = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !/\p{Cc}/u.test(text));
const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS, ...FIELD_TEXTS) },
  { weight: 1, arbitrary: anyText },
);

const number = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1',
    '5',
    '7',
    '9',
    '9.0',
    '10',
    '1e3',
    '1E3',
    '-2.5',
    '0.1',
    '1e21',
    '1e-7',
    '1e308',
    '999',
  ),
  fc.integer({ min: -20, max: 2000 }).map(String),
  fc.tuple(fc.integer({ min: -999, max: 999 }), fc.integer({ min: 0, max: 999 })).map(([a, b]) => `${a}.${b}`),
);

export const literal: fc.Arbitrary<Literal> = fc.oneof(
  { weight: 6, arbitrary: text.map((written) => ({ kind: 'string' as const, text: written })) },
  { weight: 4, arbitrary: number.map((written) => ({ kind: 'number' as const, written })) },
  { weight: 2, arbitrary: fc.boolean().map((value) => ({ kind: 'boolean' as const, value })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'null' as const }) },
);

/** Patterns made from the values, so that they match: a start, an end or a middle, or with characters replaced. */
const pattern = fc.tuple(text, fc.nat(6), fc.nat(20)).map(([base, form, at]) => {
  const escaped = base.replace(/[\\%_]/g, '\\$&');
  const characters = Array.from(base, (character) => (/[\\%_]/.test(character) ? `\\${character}` : character));
  const cut = characters.slice(0, at).join('');
  if (form === 0) return escaped;
  if (form === 1) return `${cut}%`;
  if (form === 2) return `%${characters.slice(at % 3).join('')}`;
  if (form === 3) return `%${cut}%`;
  if (form === 4) return characters.map((character, place) => (place === at ? '_' : character)).join('');
  if (form === 5) return `${cut}_%`;
  return base.replace(/\\+$/, '');
});

export const tree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree; leaf: Tree }>((tie) => ({
  leaf: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('compare' as const),
        key,
        sign: fc.constantFrom('=', '=', '!=', '<>', '<', '<=', '>', '>='),
        value: literal,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('in' as const),
        key,
        negated: fc.boolean(),
        values: fc.array(literal, { minLength: 1, maxLength: 6 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('like' as const), key, negated: fc.boolean(), pattern }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('null' as const), key, negated: fc.boolean() }) },
  ),
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: tie('leaf') },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        parts: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('not' as const), part: tie('tree') }) },
  ),
})).tree;

export const seed = fc.noShrink(fc.nat({ max: 2 ** 31 - 1 }));
export const limit = fc.option(fc.integer({ min: 1, max: 400 }), { nil: null });

interface Model {
  readonly tree: Tree;
  readonly limit: number | null;
  readonly text: string;
}

export const selection: fc.Arbitrary<Model> = fc
  .record({ tree: tree.filter((drawn) => countLeaves(drawn) <= 50), limit, seed })
  .map((drawn) => {
    const draw = createRandom(drawn.seed).int;
    const head = ['SELECT', 'DOCUMENTS', 'WHERE'].map((word) => keyword(word, draw) + space(draw)).join('');
    const tail = drawn.limit === null ? '' : `${space(draw)}${keyword('LIMIT', draw)} ${drawn.limit}`;
    return { ...drawn, text: `${head}${print(drawn.tree, draw)}${tail}${draw(2) ? ';' : ''}` };
  })
  .filter((model) => model.text.length <= 4000);

export function countLeaves(drawn: Tree): number {
  if (drawn.kind === 'not') return countLeaves(drawn.part);
  return 'parts' in drawn ? drawn.parts.reduce((sum, part) => sum + countLeaves(part), 0) : 1;
}
