import { expect, it } from 'vitest';
import { splitPairs } from '../../../src/projection/fit/split-pairs.ts';

it('holds out the asked share, every pair on exactly one side', () => {
  const { fitted, heldOut } = splitPairs(5000, 0.1, 1);
  expect(heldOut).toHaveLength(500);
  expect([...fitted, ...heldOut].sort((a, b) => a - b)).toEqual(Array.from({ length: 5000 }, (_, i) => i));
});

it('is the same for a seed and another for another', () => {
  expect(splitPairs(100, 0.2, 1)).toEqual(splitPairs(100, 0.2, 1));
  expect(splitPairs(100, 0.2, 1)).not.toEqual(splitPairs(100, 0.2, 2));
});

it('leaves a pair on each side of a tiny corpus', () => {
  expect(splitPairs(2, 0.1, 1).heldOut).toHaveLength(1);
  expect(splitPairs(3, 0.99, 1).fitted).toHaveLength(1);
});
