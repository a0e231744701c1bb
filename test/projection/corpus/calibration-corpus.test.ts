import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { type CorpusText, readCalibrationCorpus } from '../../../src/projection/corpus/calibration-corpus.ts';
import { checkCorpus } from '../../../src/projection/fit/check-pairs.ts';

const corpus = readCalibrationCorpus();
const shareOf = (test: (entry: CorpusText) => boolean) => corpus.filter(test).length / corpus.length;

/** The texts are an input of a new canonical space. A new hash is a new version of the corpus; see the changelog. */
it('the calibration corpus changes only on purpose', () => {
  const hash = createHash('sha256').update(JSON.stringify(corpus)).digest('hex');
  expect(hash).toBe('9f8e0a27b649e44e1f84f5babf121a660573c6fdcc0acfc18216def2596af625');
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

it('the first 2,000 texts are half English and half Korean, of all domains, and a question is beside its passage', () => {
  const first = corpus.slice(0, 2000);
  expect(first.filter(({ language }) => language === 'en')).toHaveLength(1000);
  expect(new Set(first.map(({ domain }) => domain)).size).toBe(31);
  const texts = new Map(first.map(({ text, kind }) => [text, kind]));
  expect(texts.get('산 지 5일 됐는데 환불되나요?')).toBe('query');
  expect([...texts.keys()].some((text) => text.startsWith('환불은 상품을 받은 날부터 7일 안에'))).toBe(true);
});
