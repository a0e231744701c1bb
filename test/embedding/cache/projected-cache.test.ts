import { describe, expect, it } from 'vitest';
import { ProjectedCache } from '../../../src/embedding/cache/projected-cache.ts';
import type { ActiveMap } from '../../../src/projection/projections.ts';

const map = (version: number, space = 'canon-v1') => ({ space, version }) as ActiveMap;
const KEYS = ['a', 'b'];

describe('the cache of projected vectors', () => {
  it('the projected cache returns copies of its vectors, in the requested order', () => {
    const cache = new ProjectedCache(100_000);
    cache.set(KEYS, map(1), 2, Float32Array.of(1, 2, 3, 4));
    const found = cache.get(['b', 'a'], map(1), 2);
    expect(found).toEqual(Float32Array.of(3, 4, 1, 2));
    found?.fill(0);
    expect(cache.get(['a'], map(1), 2)).toEqual(Float32Array.of(1, 2));
  });

  it('the projected cache finds no vector for another map, space, length or text', () => {
    const cache = new ProjectedCache(100_000);
    cache.set(KEYS, map(1), 2, Float32Array.of(1, 2, 3, 4));
    expect(cache.get(KEYS, map(2), 2)).toBeNull();
    expect(cache.get(KEYS, map(1, 'canon-v2'), 2)).toBeNull();
    expect(cache.get(KEYS, map(1), 1)).toBeNull();
    expect(cache.get(['a', 'c'], map(1), 2)).toBeNull();
  });

  it('the projected cache stores no vector of large requests, and none at all with 0 bytes', () => {
    const many = Array.from({ length: 9 }, (_, n) => `k${n}`);
    const cache = new ProjectedCache(100_000);
    cache.set(many, map(1), 1, new Float32Array(9));
    expect(cache.get(many.slice(0, 1), map(1), 1)).toBeNull();
    const off = new ProjectedCache(0);
    off.set(KEYS, map(1), 1, Float32Array.of(1, 2));
    expect(off.get(KEYS, map(1), 1)).toBeNull();
  });
});
