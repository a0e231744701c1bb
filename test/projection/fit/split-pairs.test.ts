import { expect, it } from 'vitest';
import { splitPairs } from '../../../src/projection/fit/split-pairs.ts';

it('a split holds out the requested share, with every pair on exactly one side', () => {
  const { fitted, heldOut } = splitPairs(5000, 0.1, 1);
  expect(heldOut).toHaveLength(500);
  expect([...fitted, ...heldOut].sort((a, b) => a - b)).toEqual(Array.from({ length: 5000 }, (_, i) => i));
});

it('a split is the same for the same seed and differs for another seed', () => {
  expect(splitPairs(100, 0.2, 1)).toEqual(splitPairs(100, 0.2, 1));
  expect(splitPairs(100, 0.2, 1)).not.toEqual(splitPairs(100, 0.2, 2));
});

it('a split of a tiny corpus has a pair on each side', () => {
  expect(splitPairs(2, 0.1, 1).heldOut).toHaveLength(1);
  expect(splitPairs(3, 0.99, 1).fitted).toHaveLength(1);
});
