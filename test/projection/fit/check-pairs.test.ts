import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/platform/errors.ts';
import { checkCorpus, checkPairs } from '../../../src/projection/fit/check-pairs.ts';
import { gaussians } from './synthetic.ts';

const DIMENSIONS = 8;
const RANK = 6;

function makePairs(n: number) {
  return {
    vectors: Float32Array.from(gaussians(n * DIMENSIONS, 1)),
    nativeDimension: DIMENSIONS,
    canonical: Float32Array.from(gaussians(n * RANK, 2)),
    rank: RANK,
  };
}

function refusal(call: () => unknown): AppError {
  try {
    call();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('pairs to fit on', () => {
  it('valid pairs are all kept', () => {
    const checked = checkPairs(makePairs(1000));
    expect(checked).toMatchObject({ duplicates: 0, warnings: [] });
    expect([...checked.kept]).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('pairs with %s are refused', (value) => {
    for (const side of ['vectors', 'canonical'] as const) {
      const pairs = makePairs(600);
      pairs[side][50] = value;
      expect(refusal(() => checkPairs(pairs))).toMatchObject({ code: 'vector_not_finite', status: 400 });
    }
  });

  it('pairs with a vector of zeros are refused, and the error names the text', () => {
    const pairs = makePairs(600);
    pairs.vectors.fill(0, 17 * DIMENSIONS, 18 * DIMENSIONS);
    const error = refusal(() => checkPairs(pairs));
    expect(error.code).toBe('zero_vector');
    expect(error.message).toContain('text 17');
  });

  it('pairs whose lengths do not match are refused', () => {
    const pairs = makePairs(600);
    const short = { ...pairs, vectors: pairs.vectors.subarray(1) };
    const fewer = { ...pairs, vectors: pairs.vectors.subarray(DIMENSIONS) };
    for (const wrong of [short, fewer]) expect(refusal(() => checkPairs(wrong)).code).toBe('pairs_mismatch');
  });

  it('pairs below 500 are refused unless few are allowed, and below 20 always', () => {
    expect(refusal(() => checkPairs(makePairs(499)))).toMatchObject({ code: 'too_few_pairs' });
    expect(refusal(() => checkPairs(makePairs(499))).message).toContain('--allow-few-pairs');
    expect(checkPairs({ ...makePairs(499), allowFewPairs: true }).kept).toHaveLength(499);
    expect(refusal(() => checkPairs({ ...makePairs(19), allowFewPairs: true })).code).toBe('too_few_pairs');
  });

  it('pairs below 1,000, or below twice the native dimension, cause a warning', () => {
    expect(checkPairs(makePairs(999)).warnings).toHaveLength(1);
    const wide = { vectors: Float32Array.from(gaussians(1100 * 600, 3)), nativeDimension: 600 };
    const [warning] = checkPairs({ ...makePairs(1100), ...wide }).warnings;
    expect(warning).toContain('1200');
  });

  it('pairs that repeat both vectors are left out', () => {
    const pairs = makePairs(600);
    for (let row = 590; row < 600; row++) {
      pairs.vectors.copyWithin(row * DIMENSIONS, 0, DIMENSIONS);
      pairs.canonical.copyWithin(row * RANK, 0, RANK);
    }
    const checked = checkPairs(pairs);
    expect(checked.duplicates).toBe(10);
    expect(checked.kept.at(-1)).toBe(589);
  });

  it('pairs that are one pair 5,000 times are refused', () => {
    const pair = makePairs(1);
    const repeat = (values: Float32Array) =>
      Float32Array.from({ length: 5000 * values.length }, (_, i) => values[i % values.length] as number);
    const error = refusal(() =>
      checkPairs({ ...pair, vectors: repeat(pair.vectors), canonical: repeat(pair.canonical) }),
    );
    expect(error.code).toBe('too_few_pairs');
    expect(error.message).toContain('there are 1 (5000 were given');
  });

  it('pairs of a model that gives all texts the same vector are refused', () => {
    const pairs = makePairs(600);
    const alike = pairs.vectors.map((value, i) => 1 + (i % DIMENSIONS) + value * 1e-6);
    expect(refusal(() => checkPairs({ ...pairs, vectors: alike })).code).toBe('vectors_not_distinct');
  });
});

describe('texts to embed', () => {
  const texts = Array.from({ length: 600 }, (_, i) => `text number ${i}`);

  it('texts are embedded once each, for any white space, and not if they are blank', () => {
    const checked = checkCorpus([...texts, 'text  number\n5 ', ' ', '']);
    expect(checked.kept).toHaveLength(600);
    expect(checked.duplicates).toBe(3);
  });

  it('texts that are one text 5,000 times are refused', () => {
    const error = refusal(() => checkCorpus(new Array<string>(5000).fill('the same')));
    expect(error).toMatchObject({ code: 'too_few_pairs', status: 400 });
    expect(refusal(() => checkCorpus(new Array<string>(5000).fill('x'), { allowFewPairs: true })).code).toBe(
      'too_few_pairs',
    );
  });
});
