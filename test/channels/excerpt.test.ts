import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutText, excerptOf, toOneLine } from '../../src/channels/excerpt.ts';
import { analyse } from '../../src/language/analyser.ts';
import { graphemeCut } from '../../src/language/graphemes.ts';
import { SEED } from '../support/random.ts';

const termsOf = (question: string) => new Set(analyse(question));

describe('an excerpt', () => {
  test('an excerpt is the whole passage on one line if it fits', () => {
    expect(excerptOf(' One.\n\n  Two.\tThree. ', new Set(), 100)).toBe('One. Two. Three.');
  });

  test('an excerpt ends at the end of a sentence', () => {
    const passage = 'The first sentence is here. The second one follows it. The third is too long for the limit.';
    expect(excerptOf(passage, new Set(), 60)).toBe('The first sentence is here. The second one follows it.');
  });

  test('an excerpt begins at the sentence with most terms of the question, and marks the text left out before it', () => {
    const passage = 'Nothing to see. Still nothing here. The pump is greased in May. The pump rests in winter.';
    expect(excerptOf(passage, termsOf('when is the pump greased'), 40)).toBe('… The pump is greased in May.');
    const korean =
      '안전 수칙을 먼저 읽으십시오. 전원을 끄십시오. 펌프는 3개월마다 윤활합니다. 그 밖의 사항은 부록을 보십시오.';
    expect(excerptOf(korean, termsOf('펌프 윤활 주기'), 25)).toBe('… 펌프는 3개월마다 윤활합니다.');
  });

  test('an excerpt of one sentence that is too long is cut at a blank, and the cut is marked', () => {
    expect(excerptOf('word '.repeat(100), new Set(), 20)).toBe('word word word word…');
  });

  test('an excerpt of text without blanks is cut between graphemes', () => {
    expect(excerptOf('가'.repeat(100), new Set(), 10)).toBe(`${'가'.repeat(9)}…`);
    expect(excerptOf('👩‍👩‍👧‍👦'.repeat(10), new Set(), 30)).toBe(`${'👩‍👩‍👧‍👦'.repeat(2)}…`);
  });
});

test('toOneLine replaces control characters, bidirectional marks and halves of surrogate pairs', () => {
  expect(toOneLine('a\u0000b\u202ec\r\nd\ud800e')).toBe('a b c d\ufffde');
});

test('cuts never split a surrogate pair or a grapheme, and never exceed the limit', () => {
  const segment = fc.constantFrom(
    'a',
    ' ',
    '. ',
    '펌',
    '각',
    '👍🏽',
    '👩‍👩‍👧‍👦',
    '🇰🇷',
    'é',
    'e\u0301',
    '\r\n',
    'क्षि',
    '\ud83d',
  );
  const texts = fc.array(segment, { maxLength: 200 }).map((segments) => segments.join(''));
  const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 120 }), (text, charsMax) => {
      const cut = graphemeCut(text, charsMax);
      const boundaries = new Set([0, text.length, ...[...segmenter.segment(text)].map(({ index }) => index)]);
      expect(cut).toBeLessThanOrEqual(charsMax);
      expect(boundaries.has(cut)).toBe(true);
      const line = toOneLine(text);
      expect(cutText(line, charsMax).length).toBeLessThanOrEqual(charsMax);
      expect(cutText(line, charsMax).isWellFormed()).toBe(true);
      expect(excerptOf(text, new Set(['a']), charsMax).length).toBeLessThanOrEqual(charsMax);
    }),
    { seed: SEED, numRuns: 500 },
  );
});
