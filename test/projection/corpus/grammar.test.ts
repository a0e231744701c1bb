import { describe, expect, it } from 'vitest';
import { createSampler, expand, parseTemplate, type Vocabulary } from '../../../src/projection/corpus/grammar.ts';
import { rollDice } from '../../support/dice.ts';

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
  it('fills slots, applies forms in turn and expands rules', () => {
    expect(expanded('{word} {word.pl} {word.pl.up} {rule}')).toBe('cat cats CATS cat and cat');
  });

  it('says again what was remembered', () => {
    expect(expanded('{word#1}, {#1.pl}')).toBe('cat, cats');
    expect(() => expanded('{#1}')).toThrow(RangeError);
  });

  it('chooses one way and goes on behind the choice', () => {
    expect(expanded('<no {word}|one {word.pl}> here {word}')).toBe('one cats here cat');
    expect(expanded('<one|>!')).toBe('!');
  });

  it('tells a slot what stands before it', () => {
    expect(expanded('abc {length}')).toBe('abc 4');
  });

  it('leaves braces and angle brackets of code alone', () => {
    const code = 'if (a < 3) { return {}; } else { b: Map<string, number> }';
    expect(expanded(code)).toBe(code);
  });
});

describe('createSampler', () => {
  it('draws all before any comes again', () => {
    const deck = createSampler([1, 2, 3, 4, 5], rollDice(3).real);
    for (let round = 0; round < 4; round++) {
      expect(Array.from({ length: 5 }, deck).toSorted()).toEqual([1, 2, 3, 4, 5]);
    }
  });
});
