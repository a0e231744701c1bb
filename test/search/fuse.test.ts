import { describe, expect, it } from 'vitest';
import type { LegWeights } from '../../src/index/index-store.ts';
import { fuseRankings, fusionFor, type LegHit, weightsFor } from '../../src/search/fuse.ts';
import { explainLegs } from '../../src/search/results/explain-results.ts';
import { randomFrom } from '../index/draw-rows.ts';

const EQUAL = plain({ keyword: 1, vector: 1 });
const ids = (hits: { id: string }[]) => hits.map((hit) => hit.id).join(' ');

function plain(weights: LegWeights) {
  return { weights, rule: 'ranks' as const };
}

/** Make hits of the keyword leg whose scores are close to each other. */
function close(...names: string[]): LegHit[] {
  return names.map((id, at) => ({ id, score: 10 - at / 10 }));
}

/** Make hits of the vector leg, whose cosines fall slowly. */
function near(...names: string[]): LegHit[] {
  return names.map((id, at) => ({ id, score: 0.9 - at / 1000 }));
}

describe('fuseRankings', () => {
  it('fusion adds weight / (60 + rank) over the legs', () => {
    const rankings = { keyword: close('a', 'b'), vector: near('c', 'a') };
    const [both, one] = fuseRankings(rankings, plain({ keyword: 2, vector: 1 }), 'hybrid');
    expect(both).toMatchObject({ id: 'a', keywordRank: 1, vectorRank: 2 });
    expect(both?.rrf).toBeCloseTo(2 / 61 + 1 / 62, 12);
    expect(both?.score).toBeCloseTo((2 / 61 + 1 / 62) / (3 / 61), 12);
    expect(one).toMatchObject({ id: 'b', keywordRank: 2, vectorRank: null });
  });

  it('fusion scores 1 for a hit that is first in every leg of the mode', () => {
    const first = { keyword: close('a'), vector: near('a') };
    expect(fuseRankings(first, fusionFor('lexical'), 'hybrid')[0]?.score).toBeCloseTo(1, 12);
    expect(fuseRankings({ keyword: close('a'), vector: [] }, EQUAL, 'keyword')[0]?.score).toBeCloseTo(1, 12);
    expect(fuseRankings({ keyword: [], vector: near('a') }, EQUAL, 'vector')[0]?.score).toBeCloseTo(1, 12);
    expect(fuseRankings({ keyword: close('a'), vector: [] }, EQUAL, 'hybrid')[0]?.score).toBeCloseTo(0.5, 12);
  });

  it('fusion ranks a hit of both legs above a single first place', () => {
    expect(ids(fuseRankings({ keyword: close('a', 'b'), vector: near('c', 'b') }, EQUAL, 'hybrid'))).toBe('b a c');
  });

  it('fusion orders equal scores by the keyword leg, then the vector leg', () => {
    const rankings = { keyword: close('k1', 'k2'), vector: near('v1', 'v2') };
    expect(ids(fuseRankings(rankings, EQUAL, 'hybrid'))).toBe('k1 v1 k2 v2');
  });

  it('fusion keeps the order of a single leg, and accepts empty legs', () => {
    expect(ids(fuseRankings({ keyword: [], vector: near('x', 'y', 'z') }, fusionFor('lexical'), 'hybrid'))).toBe(
      'x y z',
    );
    expect(fuseRankings({ keyword: [], vector: [] }, EQUAL, 'hybrid')).toEqual([]);
    expect(fuseRankings({ keyword: [], vector: [] }, fusionFor('lexical'), 'hybrid')).toEqual([]);
  });
});

describe('a clear lead in BM25 scores', () => {
  /** The only text with a rare code, and texts with the common words of the query, which the vectors rank first. */
  const rankings = {
    keyword: [
      { id: 'code', score: 15 },
      { id: 'b', score: 10 },
      { id: 'c', score: 9.9 },
      { id: 'd', score: 9.8 },
    ],
    vector: near('c', 'd', 'other', ...Array.from({ length: 30 }, (_, at) => `v${at}`), 'code'),
  };

  it('is kept beside a lexical model: the vectors order only what has close scores', () => {
    expect(ids(fuseRankings(rankings, plain(weightsFor('lexical')), 'hybrid').slice(0, 4))).toBe('c code d b');
    expect(ids(fuseRankings(rankings, fusionFor('lexical'), 'hybrid').slice(0, 4))).toBe('code c d b');
  });

  it('is not kept if the bucket has no weight for keywords', () => {
    const vectors = fusionFor('lexical', { keyword: 0, vector: 1 });
    expect(ids(fuseRankings(rankings, vectors, 'hybrid').slice(0, 2))).toBe('c d');
  });

  it('is no lead if the score is less than half as high again', () => {
    const [lead, ...others] = rankings.keyword as [LegHit, ...LegHit[]];
    const nearly = { ...rankings, keyword: [{ ...lead, score: 14.7 }, ...others] };
    expect(ids(fuseRankings(nearly, fusionFor('lexical'), 'hybrid').slice(0, 2))).toBe('c code');
  });

  it('gives the hit the score of the one that it stays before, and is explained as a part of the keyword leg', () => {
    const [first, second] = fuseRankings(rankings, fusionFor('lexical'), 'hybrid');
    expect(first).toMatchObject({ id: 'code', rrf: second?.rrf, score: second?.score });
    const explained = explainLegs(
      { hit: first as NonNullable<typeof first>, weights: weightsFor('lexical'), mode: 'hybrid' },
      1,
    );
    expect(explained.keyword).toMatchObject({ rank: 1 });
    expect(explained.keyword?.contribution).toBeGreaterThan(1 / 61);
    expect((explained.keyword?.contribution ?? 0) + (explained.vector?.contribution ?? 0)).toBeCloseTo(first?.rrf ?? 0);
  });

  it('holds for any legs: scores fall, every hit is there once, and no hit is before one that leads it', () => {
    const random = randomFrom(7);
    for (let round = 0; round < 200; round++) {
      const keyword = Array.from({ length: 1 + Math.floor(random() * 30) }, (_, at) => ({
        ...{ id: `k${at}`, score: 0.1 + 20 * random() ** 3 },
      })).sort((a, b) => b.score - a.score);
      const vector = [...keyword.map(({ id }) => id), ...Array.from({ length: 20 }, (_, at) => `v${at}`)]
        .map((id) => ({ id, at: random() }))
        .sort((a, b) => a.at - b.at)
        .slice(0, 30)
        .map(({ id, at }) => ({ id, score: 1 - at }));
      const hits = fuseRankings({ keyword, vector }, fusionFor('lexical', { keyword: 1, vector: random() }), 'hybrid');
      const all = new Set([...keyword, ...vector].map(({ id }) => id));
      expect(new Set(hits.map(({ id }) => id))).toEqual(all);
      expect(hits).toHaveLength(all.size);
      const scores = new Map(keyword.map(({ id, score }) => [id, score]));
      let highest = 0;
      for (const { id, rrf } of hits.toReversed()) {
        const own = hits.findIndex((hit) => hit.id === id);
        expect(rrf).toBeGreaterThanOrEqual(hits[own + 1]?.rrf ?? 0);
        expect(highest).toBeLessThan(1.5 * (scores.get(id) ?? (keyword.at(-1) as LegHit).score));
        highest = Math.max(highest, scores.get(id) ?? 0);
      }
    }
  });
});

/** Fusion of scores with equal weights. */
const EQUAL_SCORES = fusionFor('semantic', { keyword: 1, vector: 1 });

describe('scores of a semantic model', () => {
  const rankings = {
    keyword: [
      { id: 'a', score: 20 },
      { id: 'b', score: 10 },
      { id: 'c', score: 5 },
    ],
    vector: [
      { id: 'c', score: 0.9 },
      { id: 'b', score: 0.85 },
      { id: 'd', score: 0.81 },
    ],
    background: 0.8,
  };

  it('are added in terms of the best BM25 score, and of the best cosine above the background', () => {
    const hits = fuseRankings(rankings, EQUAL_SCORES, 'hybrid');
    const parts = hits.map(({ id, keywordPart, vectorPart, score }) => [id, keywordPart, vectorPart, score]);
    const wanted = [
      ['c', 0.125, 0.5, 0.625],
      ['a', 0.5, 0, 0.5],
      ['b', 0.25, 0.25, 0.5],
      ['d', 0, 0.05, 0.05],
    ];
    expect(parts.map(([id]) => id)).toEqual(wanted.map(([id]) => id));
    for (const [at, part] of parts.entries()) {
      for (const nth of [1, 2, 3]) expect(part[nth]).toBeCloseTo(wanted[at]?.[nth] as number, 12);
    }
    expect(hits[0]?.rrf).toBeCloseTo(1 / 63 + 1 / 61, 12);
  });

  it.each([
    ['hardly any of the best score', 0.001, 1 / 0.7015],
    ['0.2 of it', 0.2, 1],
    ['all of it', 1, 1 / 2.2],
  ])('count more for the keyword leg if its tenth hit has less: %s', (_, share, factor) => {
    const keyword = ['k0', ...'123456789'].map((id, at) => ({ id, score: at === 0 ? 8 : 8 * share }));
    const hits = fuseRankings({ keyword, vector: rankings.vector, background: 0.8 }, EQUAL_SCORES, 'hybrid');
    expect(hits.find(({ id }) => id === 'k0')?.score).toBeCloseTo(factor / (factor + 1), 12);
    expect(hits.find(({ id }) => id === 'c')?.score).toBeCloseTo(1 / (factor + 1), 12);
  });

  it('weigh as the bucket says, and a first place in both legs scores 1', () => {
    const tuned = fuseRankings(rankings, fusionFor('semantic', { keyword: 1, vector: 0.25 }), 'hybrid');
    expect(ids(tuned)).toBe('a b c d');
    const first = { keyword: [{ id: 'a', score: 3 }], vector: [{ id: 'a', score: 0.8 }], background: 0.7 };
    expect(fuseRankings(first, EQUAL_SCORES, 'hybrid')[0]?.score).toBeCloseTo(1, 12);
  });

  it('without a background, the lowest cosine counts as unrelated, and cosines below the background count nothing', () => {
    const unknown = fuseRankings({ ...rankings, background: null }, EQUAL_SCORES, 'hybrid');
    expect(unknown.find(({ id }) => id === 'd')?.score).toBe(0);
    const high = fuseRankings({ ...rankings, background: 0.84 }, EQUAL_SCORES, 'hybrid');
    expect(high.find(({ id }) => id === 'd')?.score).toBe(0);
  });

  it('of a chunk whose vector is not made yet are those of its words alone', () => {
    const waiting = {
      ...rankings,
      withoutVectors: new Set(['b']),
      vector: rankings.vector.filter(({ id }) => id !== 'b'),
    };
    const hits = fuseRankings(waiting, EQUAL_SCORES, 'hybrid');
    expect(hits.find(({ id }) => id === 'b')).toMatchObject({ score: 0.5, keywordPart: 0.5, vectorPart: 0 });
  });

  it('leave the order of a single leg, with the scores of ranks', () => {
    const [first, second] = fuseRankings({ ...rankings, keyword: [] }, EQUAL_SCORES, 'vector');
    expect([first?.id, second?.id]).toEqual(['c', 'b']);
    expect(second?.score).toBeCloseTo(61 / 62, 12);
  });
});

describe('weightsFor', () => {
  it('a lexical model reorders neighbours of the keyword leg but does not overturn it', () => {
    const rankings = { keyword: close('a', 'b', 'c'), vector: near('b', 'z') };
    expect(ids(fuseRankings(rankings, fusionFor('lexical'), 'hybrid'))).toBe('b a c z');
    const far = { keyword: close('a', ...Array.from({ length: 20 }, (_, i) => `k${i}`)), vector: near('k19') };
    expect(fuseRankings(far, fusionFor('lexical'), 'hybrid')[0]?.id).toBe('a');
  });

  it('scores of a semantic model count more than those of keywords, and its ranks the same', () => {
    expect(fusionFor('semantic')).toEqual({ weights: { keyword: 1, vector: 1.5 }, rule: 'scores' });
    const hidden = fusionFor('semantic', undefined, { showsScores: false });
    expect(hidden).toEqual({ weights: { keyword: 1, vector: 1 }, rule: 'ranks' });
  });
});
