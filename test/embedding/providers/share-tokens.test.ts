import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareTokens } from '../../../src/embedding/providers/share-tokens.ts';
import { SEED } from '../../support/random.ts';

describe('shareTokens', () => {
  it('shares are whole numbers of at least one and add up to the total', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(10_000), { minLength: 1, maxLength: 50 }),
        fc.integer({ min: 0, max: 1_000_000 }),
        (counts, more) => {
          const total = counts.length + more;
          const shares = shareTokens(total, counts);
          expect(shares).toHaveLength(counts.length);
          expect(shares.every((share) => Number.isInteger(share) && share >= 1)).toBe(true);
          expect(shares.reduce((left, right) => left + right, 0)).toBe(total);
        },
      ),
      { seed: SEED },
    );
  });

  it('shares are our own counts if the vendor counts the same', () => {
    expect(shareTokens(10, [1, 2, 3, 4])).toEqual([1, 2, 3, 4]);
  });

  it('longer texts get larger shares', () => {
    expect(shareTokens(100, [1, 10, 40])).toEqual([1, 19, 80]);
  });

  it('texts with equal counts get equal shares', () => {
    expect(shareTokens(7, [1, 1, 1])).toEqual([3, 2, 2]);
  });

  it('shares are our own counts if the total is unknown or impossible', () => {
    expect(shareTokens(null, [5, 6])).toEqual([5, 6]);
    expect(shareTokens(1, [5, 6])).toEqual([5, 6]);
  });
});
