import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const KIB = 1024;
const MIB = 1024 * KIB;
// A pool of its own: that of the process may hold buffers that other tests have released.
const ownPool = new URL('../../src/platform/large-buffers.ts?own', import.meta.url).href;
const { acquireBuffer, releaseBuffer }: typeof import('../../src/platform/large-buffers.ts') = await import(ownPool);

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

test('a released buffer is used again, and never by two at once', () => {
  const first = acquireBuffer(1.3 * MIB);
  expect(first.length).toBe(2 * MIB);
  releaseBuffer(first.subarray(0, 1000));
  const second = acquireBuffer(1.1 * MIB);
  expect(second.buffer).toBe(first.buffer);
  expect(acquireBuffer(1.1 * MIB).buffer).not.toBe(first.buffer);
});

test('small and very large buffers have the exact size and are not pooled', () => {
  for (const bytes of [0, 1, 8 * KIB - 1, 16 * MIB + 1]) {
    const buffer = acquireBuffer(bytes);
    expect(buffer.length).toBe(bytes);
    expect(buffer.buffer.byteLength).toBe(bytes);
    releaseBuffer(buffer);
    if (bytes > 0) expect(acquireBuffer(bytes).buffer).not.toBe(buffer.buffer);
  }
});

test('the pool keeps at most 64 MiB of idle buffers, and drops them after an interval', () => {
  const first = Array.from({ length: 6 }, () => acquireBuffer(16 * MIB));
  for (const buffer of first) releaseBuffer(buffer);
  const known = new Set(first.map(({ buffer }) => buffer));
  const again = Array.from({ length: 6 }, () => acquireBuffer(16 * MIB));
  expect(again.filter(({ buffer }) => known.has(buffer))).toHaveLength(4);
  for (const buffer of again.slice(0, 4)) releaseBuffer(buffer);
  vi.advanceTimersByTime(10_000);
  const all = new Set([...known, ...again.map(({ buffer }) => buffer)]);
  expect(all.has(acquireBuffer(16 * MIB).buffer)).toBe(false);
});
