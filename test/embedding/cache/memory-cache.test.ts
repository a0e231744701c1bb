import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENTRY_OVERHEAD_BYTES, MemoryCache } from '../../../src/embedding/cache/memory-cache.ts';
import { SEED } from '../../support/random.ts';

const entryBytes = (dimensions: number) => dimensions * 4 + ENTRY_OVERHEAD_BYTES;
/** Read the tokens and numbers of a key, of which there may be up to 2,000. */
function lookUp(cache: MemoryCache, key: string): { tokens: number; vector: number[] } | undefined {
  const into = new Float32Array(2000).fill(-1);
  const tokens = cache.read(key, into, 0);
  expect(cache.has(key)).toBe(tokens !== undefined);
  return tokens === undefined ? undefined : { tokens, vector: [...into].filter((value) => value !== -1) };
}
const entry = (value: number, dimensions = 4) => ({ vector: new Float32Array(dimensions).fill(value), tokens: value });

test('the memory cache evicts the least recently used entry first', () => {
  const cache = new MemoryCache(3 * entryBytes(4));
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, entry(index));
  lookUp(cache, 'a');
  cache.set('d', entry(3));
  expect(['a', 'b', 'c', 'd'].map((key) => lookUp(cache, key)?.tokens)).toEqual([0, undefined, 2, 3]);
});

test('a cached entry is a copy of its row, not a view of the reply', () => {
  const cache = new MemoryCache(10_000);
  const reply = Float32Array.of(1, 2, 3, 4);
  cache.set('row', { vector: reply.subarray(2), tokens: 1 });
  reply.fill(9);
  expect(lookUp(cache, 'row')?.vector).toEqual([3, 4]);
});

test('a cached vector is copied to the given offset', () => {
  const cache = new MemoryCache(10_000);
  cache.set('row', { vector: Float32Array.of(1, 2), tokens: 7 });
  const into = new Float32Array(6);
  expect(cache.read('row', into, 2)).toBe(7);
  expect([...into]).toEqual([0, 0, 1, 2, 0, 0]);
});

test('an entry that replaces another one, or an older one of its key, has its own numbers', () => {
  const cache = new MemoryCache(2 * entryBytes(4));
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
    ['c', 4],
  ] as const)
    cache.set(key, entry(value));
  expect(lookUp(cache, 'a')).toBeUndefined();
  expect(lookUp(cache, 'b')?.vector).toEqual([2, 2, 2, 2]);
  expect(lookUp(cache, 'c')).toEqual({ tokens: 4, vector: [4, 4, 4, 4] });
});

test('an entry larger than the whole memory cache is not stored and evicts no other entry', () => {
  const cache = new MemoryCache(entryBytes(4));
  cache.set('small', entry(1));
  cache.set('large', entry(2, 1000));
  expect(lookUp(cache, 'small')?.tokens).toBe(1);
  expect(lookUp(cache, 'large')).toBeUndefined();
});

test('a memory cache of 0 bytes stores nothing', () => {
  const cache = new MemoryCache(0);
  cache.set('a', entry(1));
  expect(lookUp(cache, 'a')).toBeUndefined();
  expect(cache.bytes).toBe(0);
});

test('the memory cache behaves as a plain least-recently-used list, and its bytes never exceed the bound', () => {
  const maxBytes = 4 * entryBytes(8);
  const step = fc.record({ isGet: fc.boolean(), key: fc.nat(9), dimensions: fc.constantFrom(1, 8, 500, 2000) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new MemoryCache(maxBytes);
      let expected: { key: string; dimensions: number }[] = [];
      const bytesOf = () => expected.reduce((sum, { dimensions }) => sum + entryBytes(dimensions), 0);
      for (const { isGet, key: number, dimensions } of steps) {
        const key = String(number);
        const known = expected.find((one) => one.key === key);
        if (isGet) {
          expect(lookUp(cache, key)?.vector).toEqual(known && new Array(known.dimensions).fill(number));
          if (known) expected = [...expected.filter((one) => one !== known), known];
        } else {
          cache.set(key, entry(number, dimensions));
          expected = expected.filter((one) => one !== known);
          if (entryBytes(dimensions) <= maxBytes) expected.push({ key, dimensions });
          while (bytesOf() > maxBytes) expected.shift();
        }
        expect(cache.bytes).toBe(bytesOf());
        expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
        expect(cache.size).toBe(expected.length);
      }
    }),
    { seed: SEED, numRuns: 300 },
  );
});
