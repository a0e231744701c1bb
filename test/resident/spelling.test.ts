import { describe, expect, it } from 'vitest';
import { analyse } from '../../src/language/analyser.ts';
import { spelledWords } from '../../src/language/spelled-words.ts';
import { correctWords } from '../../src/resident/keywords/correct-words.ts';
import { KeywordRows } from '../../src/resident/keywords/keyword-rows.ts';
import { SPELLING_SETS } from '../language/spelling-words.ts';

/** Least number of the 250 misspelled words to correct. Some of them are other words (`expanse` for `expense`). */
const RIGHT_MIN = { English: 240, Korean: 210 };
const WRONG_MAX = 3;

function fill(texts: readonly string[]): KeywordRows {
  const rows = new KeywordRows();
  for (const text of texts) {
    const bytes = new TextEncoder().encode(analyse(text).join(' '));
    rows.add(bytes, 0, bytes.length);
  }
  return rows;
}

describe.each(SPELLING_SETS)('$language words', ({ language, indexed, others, misspell }) => {
  const rows = fill(indexed);
  const correct = (word: string) =>
    correctWords(rows, spelledWords(word)).map(({ from, to, by }) => ({ from, to, by }));

  it('real words are not corrected, whether or not the bucket has them', () => {
    expect([indexed.length, others.length]).toEqual([250, 250]);
    expect([...indexed, ...others].flatMap(correct)).toEqual([]);
  });

  it('misspelled words are corrected to the word that was meant', () => {
    const wrong: string[] = [];
    let right = 0;
    for (const word of indexed) {
      const mistake = misspell(word);
      const [correction] = correct(mistake);
      if (correction === undefined) continue;
      if (correction.by.join(' ') === analyse(word).join(' ')) right++;
      else wrong.push(`${mistake} > ${correction.to} instead of ${word}`);
    }
    expect(wrong.length, wrong.join(', ')).toBeLessThanOrEqual(WRONG_MAX);
    expect(right).toBeGreaterThanOrEqual(RIGHT_MIN[language]);
  });
});
