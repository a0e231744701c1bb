import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { type CorpusText, readCalibrationCorpus } from '../../../src/projection/corpus/calibration-corpus.ts';
import { checkCorpus } from '../../../src/projection/fit/check-pairs.ts';

const corpus = readCalibrationCorpus();
const shareOf = (test: (entry: CorpusText) => boolean) => corpus.filter(test).length / corpus.length;

/** The texts are an input of the canonical space: spaces of other texts cannot be extended with them. */
it('the calibration corpus has the same texts in every version', () => {
  const hash = createHash('sha256').update(JSON.stringify(corpus)).digest('hex');
  expect(hash).toBe('b970afb9c8629e9cac3c159f930b5b075b90b6f8902685487099358118e8470b');
});

it('the calibration corpus has 6,000 distinct texts of 3 to 60 words', () => {
  expect(corpus).toHaveLength(6000);
  expect(checkCorpus(corpus.map(({ text }) => text))).toMatchObject({ duplicates: 0 });
  for (const { text } of corpus) {
    const words = text.split(/\s+/).length;
    expect(words).toBeGreaterThanOrEqual(3);
    expect(words).toBeLessThanOrEqual(60);
    expect(text).toBe(text.trim().normalize('NFC'));
  }
});

it('the calibration corpus is half English and half Korean, and at least two fifths of it are queries', () => {
  expect(shareOf(({ language }) => language === 'en')).toBeCloseTo(0.5, 1);
  const queries = shareOf(({ kind }) => kind === 'query');
  expect(queries).toBeGreaterThan(0.4);
  expect(queries).toBeLessThan(0.6);
  expect(new Set(corpus.map(({ domain }) => domain)).size).toBe(31);
});
