import fc from 'fast-check';
import { expect, it } from 'vitest';
import { analyse } from '../../src/language/analyser.ts';
import { highlight } from '../../src/search/results/highlight.ts';

const termsOf = (query: string) => new Set(analyse(query));
/** Show sentences with matches in brackets. */
const shown = (text: string, query: string) =>
  highlight(text, termsOf(query)).map(({ parts }) =>
    parts.map((part) => (part.match ? `[${part.text}]` : part.text)).join(''),
  );

it.each([
  ['Bearings are greased. The pump is new.', 'how often is the bearing greased', ['[Bearings] are [greased].']],
  ['The AB-1234 valve. Another valve.', '1234', ['The AB-[1234] valve.']],
  ['Send an e-mail.', 'email', ['Send an [e-mail].']],
  ['항구의 만조 시각은 새벽입니다. 다른 문장입니다.', '만조 시각', ['항구의 [만조] [시각은] 새벽입니다.']],
  ['東京都の港は満潮です。別の文。', '満潮', ['東京都の港は[満潮]です。']],
  ['Über den Größen steht Straße.', 'strasse', ['Über den Größen steht [Straße].']],
  ['Nothing of it.', 'harbour', []],
  ['', 'harbour', []],
])('in %j the words of %j are marked by sentence', (text, query, expected) => {
  expect(shown(text, query)).toEqual(expected);
});

it('the sentences with most of the query are shown, at most three, in the order of the text', () => {
  const text = 'A heron. A ferry and a heron. The weir. A ferry. The heron at the weir of the ferry. A heron again.';
  expect(shown(text, 'heron ferry weir')).toEqual([
    'A [ferry] and a [heron].',
    'The [weir].',
    'The [heron] at the [weir] of the [ferry].',
  ]);
});

it('of a long sentence the surroundings of the first match are shown', () => {
  const filler = 'lorem ipsum '.repeat(60);
  const [sentence = ''] = shown(`${filler}heron ${filler}`, 'heron');
  expect(sentence).toMatch(/^….*\[heron\].*…$/);
  expect(sentence.length).toBeLessThan(330);
});

it('the parts of every sentence are text of the chunk, and every match has a term of the query', () => {
  const word = fc.constantFrom(
    'heron',
    'Herons',
    'ferry.',
    'AB-12',
    '항구의',
    '満潮港',
    '😀',
    'e-mail',
    '\n',
    'weir!',
    'x'.repeat(90),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 60 }), fc.array(word, { maxLength: 5 }), (words, queried) => {
      const text = words.join(' ');
      const terms = termsOf(queried.join(' '));
      for (const { parts } of highlight(text, terms)) {
        const inner = parts.filter((part) => part.text !== '…');
        expect(text).toContain(inner.map((part) => part.text).join(''));
        for (const part of inner) {
          expect(part.text.isWellFormed()).toBe(true);
          if (part.match) expect(analyse(part.text).some((term) => terms.has(term))).toBe(true);
        }
      }
    }),
  );
});
