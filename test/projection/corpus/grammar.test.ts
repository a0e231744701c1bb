import { describe, expect, it } from 'vitest';
import { createSampler, expand, parseTemplate, type Vocabulary } from '../../../src/projection/corpus/grammar.ts';
import { createRandom } from '../../support/random.ts';

const vocabulary: Vocabulary = {
  random: () => 0.99,
  draw: (name, before) => {
    if (name === 'rule') return parseTemplate('{word} and {word}');
    if (name === 'length') return String(before.length);
    if (name === 'word') return 'cat';
    throw new RangeError(name);
  },
  inflect: (_, word, form) => (form === 'pl' ? `${word}s` : word.toUpperCase()),
};

const expanded = (source: string) => expand(parseTemplate(source), vocabulary);

describe('expand', () => {
  it('a template is expanded with filled slots, forms in order and rules', () => {
    expect(expanded('{word} {word.pl} {word.pl.up} {rule}')).toBe('cat cats CATS cat and cat');
  });

  it('a stored word is repeated by its register', () => {
    expect(expanded('{word#1}, {#1.pl}')).toBe('cat, cats');
    expect(() => expanded('{#1}')).toThrow(RangeError);
  });

  it('one option of a choice is taken, and the text after it follows', () => {
    expect(expanded('<no {word}|one {word.pl}> here {word}')).toBe('one cats here cat');
    expect(expanded('<one|>!')).toBe('!');
  });

  it('a slot gets the text before it', () => {
    expect(expanded('abc {length}')).toBe('abc 4');
  });

  it('braces and angle brackets of code are not changed', () => {
    const code = 'if (a < 3) { return {}; } else { b: Map<string, number> }';
    expect(expanded(code)).toBe(code);
  });
});

describe('createSampler', () => {
  it('a sampler draws all items before it repeats one', () => {
    const next = createSampler([1, 2, 3, 4, 5], createRandom(3).real);
    for (let round = 0; round < 4; round++) {
      expect(Array.from({ length: 5 }, next).toSorted()).toEqual([1, 2, 3, 4, 5]);
    }
  });
});
