import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENTRY_OVERHEAD_BYTES, MemoryCache } from '../../../src/embedding/cache/memory-cache.ts';

const entryBytes = (dimensions: number) => dimensions * 4 + ENTRY_OVERHEAD_BYTES;
const entry = (value: number, dimensions = 4) => ({ vector: new Float32Array(dimensions).fill(value), tokens: value });

test('what was used longest ago goes first', () => {
  const cache = new MemoryCache(3 * entryBytes(4));
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, entry(index));
  cache.get('a');
  cache.set('d', entry(3));
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key)?.tokens)).toEqual([0, undefined, 2, 3]);
});

test('an entry is a copy of its own row, not a view into the reply', () => {
  const cache = new MemoryCache(10_000);
  const reply = Float32Array.of(1, 2, 3, 4);
  cache.set('row', { vector: reply.subarray(2), tokens: 1 });
  reply.fill(9);
  const kept = cache.get('row')?.vector;
  expect([...(kept ?? [])]).toEqual([3, 4]);
  expect(kept?.buffer.byteLength).toBe(8);
});

test('an entry larger than the whole cache is not kept, and does not push out others', () => {
  const cache = new MemoryCache(entryBytes(4));
  cache.set('small', entry(1));
  cache.set('large', entry(2, 1000));
  expect(cache.get('small')?.tokens).toBe(1);
  expect(cache.get('large')).toBeUndefined();
});

test('0 bytes keep nothing', () => {
  const cache = new MemoryCache(0);
  cache.set('a', entry(1));
  expect(cache.get('a')).toBeUndefined();
  expect(cache.bytes).toBe(0);
});

test('it does what a list of least recently used entries does, and its bytes never pass the bound', () => {
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
          expect(cache.get(key)?.vector.length).toBe(known?.dimensions);
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
    { seed: 61, numRuns: 300 },
  );
});
