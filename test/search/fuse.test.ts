import { describe, expect, it } from 'vitest';
import { fuseRankings, weightsFor } from '../../src/search/fuse.ts';

const EQUAL = { keyword: 1, vector: 1 };
const ids = (hits: { id: string }[]) => hits.map((hit) => hit.id).join(' ');

describe('fuseRankings', () => {
  it('fusion adds weight / (60 + rank) over the legs', () => {
    const [both, one] = fuseRankings({ keyword: ['a', 'b'], vector: ['c', 'a'] }, { keyword: 2, vector: 1 }, 'hybrid');
    expect(both).toMatchObject({ id: 'a', keywordRank: 1, vectorRank: 2 });
    expect(both?.rrf).toBeCloseTo(2 / 61 + 1 / 62, 12);
    expect(both?.score).toBeCloseTo((2 / 61 + 1 / 62) / (3 / 61), 12);
    expect(one).toMatchObject({ id: 'b', keywordRank: 2, vectorRank: null });
  });

  it('fusion scores 1 for a hit that is first in every leg of the mode', () => {
    const first = { keyword: ['a'], vector: ['a'] };
    expect(fuseRankings(first, { keyword: 1, vector: 0.1 }, 'hybrid')[0]?.score).toBeCloseTo(1, 12);
    expect(fuseRankings({ keyword: ['a'], vector: [] }, EQUAL, 'keyword')[0]?.score).toBeCloseTo(1, 12);
    expect(fuseRankings({ keyword: [], vector: ['a'] }, EQUAL, 'vector')[0]?.score).toBeCloseTo(1, 12);
    expect(fuseRankings({ keyword: ['a'], vector: [] }, EQUAL, 'hybrid')[0]?.score).toBeCloseTo(0.5, 12);
  });

  it('fusion ranks a hit of both legs above a single first place', () => {
    expect(ids(fuseRankings({ keyword: ['a', 'b'], vector: ['c', 'b'] }, EQUAL, 'hybrid'))).toBe('b a c');
  });

  it('fusion orders equal scores by the keyword leg, then the vector leg', () => {
    expect(ids(fuseRankings({ keyword: ['k1', 'k2'], vector: ['v1', 'v2'] }, EQUAL, 'hybrid'))).toBe('k1 v1 k2 v2');
  });

  it('fusion keeps the order of a single leg, and accepts empty legs', () => {
    expect(ids(fuseRankings({ keyword: [], vector: ['x', 'y', 'z'] }, weightsFor('lexical'), 'hybrid'))).toBe('x y z');
    expect(fuseRankings({ keyword: [], vector: [] }, EQUAL, 'hybrid')).toEqual([]);
  });
});

describe('weightsFor', () => {
  it('a lexical model reorders neighbours of the keyword leg but does not overturn it', () => {
    const rankings = { keyword: ['a', 'b', 'c'], vector: ['b', 'z'] };
    expect(ids(fuseRankings(rankings, weightsFor('lexical'), 'hybrid'))).toBe('b a c z');
    const far = { keyword: ['a', ...Array.from({ length: 20 }, (_, i) => `k${i}`)], vector: ['k19'] };
    expect(fuseRankings(far, weightsFor('lexical'), 'hybrid')[0]?.id).toBe('a');
  });

  it('a semantic model counts as much as keywords', () => {
    const { keyword, vector } = weightsFor('semantic');
    expect(keyword).toBe(vector);
  });
});
