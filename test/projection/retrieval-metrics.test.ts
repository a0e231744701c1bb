import { describe, expect, it } from 'vitest';
import { ndcgAt, recallAt } from '../../src/projection/retrieval-metrics.ts';

const relevant = new Set(['a', 'b', 'c']);

describe('ndcgAt', () => {
  it('nDCG is 1 if all relevant documents come first, and 0 without any', () => {
    expect(ndcgAt(['c', 'a', 'b', 'x'], relevant, 10)).toBe(1);
    expect(ndcgAt(['x', 'y'], relevant, 10)).toBe(0);
    expect(ndcgAt([], relevant, 10)).toBe(0);
  });

  it('nDCG discounts by the logarithm of the rank', () => {
    const ideal = 1 + 1 / Math.log2(3) + 1 / 2;
    expect(ndcgAt(['x', 'a', 'y', 'b'], relevant, 10)).toBeCloseTo((1 / Math.log2(3) + 1 / Math.log2(5)) / ideal, 12);
  });

  it('nDCG cuts the ideal ranking as well as the actual one', () => {
    expect(ndcgAt(['a', 'b', 'x'], relevant, 2)).toBe(1);
    expect(ndcgAt(['x', 'y', 'a'], relevant, 2)).toBe(0);
  });
});

describe('recallAt', () => {
  it('recall is the share of relevant documents within the first k', () => {
    expect(recallAt(['a', 'x', 'b', 'c'], relevant, 3)).toBeCloseTo(2 / 3, 12);
    expect(recallAt(['a'], relevant, 10)).toBeCloseTo(1 / 3, 12);
  });
});
