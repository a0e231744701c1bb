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

describe('queries', () => {
  const rows = fill([
    'The kind of measurement, the gene and the kings of Denmark. The ferry carries cars.',
    'Tidal measurement at the harbour. Sonic waves and the date of the string.',
    'Die Häuser der Stadt stehen am Hafen, und die Fähren fahren in der Nacht.',
  ]);
  const corrected = (query: string) => correctWords(rows, spelledWords(query)).map(({ from, to }) => [from, to]);

  it('valid English words and compounds that the bucket does not have are not corrected', () => {
    expect(corrected('what kinds of music genre are there')).toEqual([]);
    expect(corrected('datetime hypersonic ferryboat')).toEqual([]);
  });

  it('a word of which the bucket has another form is not corrected, in the language of its text', () => {
    expect(corrected('wo ist das Haus in der Stadt')).toEqual([]);
    expect(corrected('Fähre Hafen Haus')).toEqual([]);
  });

  it('a word in a query of another language is not corrected to an English word', () => {
    expect(corrected('wann ist der Ferri und der Kind')).toEqual([]);
  });

  it('typing errors are corrected to words of the dictionary, and to other words that several texts have', () => {
    expect(corrected('mesurement')).toEqual([['mesurement', 'measurement']]);
    const more = Array.from({ length: 500 }, () => 'The tide comes in.');
    const names = fill(['Kubernetes runs containers.', 'Kubernetes starts pods.', 'Zookeperr keeps keys.', ...more]);
    const correct = (word: string) => correctWords(names, spelledWords(word)).map(({ to }) => to);
    expect(correct('kubernates')).toEqual(['kubernetes']);
    expect(correct('zookeperry')).toEqual([]);
  });
});
