import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { openCredentialCache, type Resolved } from '../../src/access/credential-cache.ts';
import { operatorCaller } from '../../src/access/operator.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const caller = (name: string): Caller => operatorCaller({ id: 'org_1', plan: 'pro' }, name);
const answer = (name: string, endsInMs: number | null = null): Resolved => ({ caller: caller(name), endsInMs });
const open = (cacheEntriesMax = 100) => openCredentialCache({ cacheMs: 500, cacheEntriesMax });

test('a result is cached for cacheMs from the start of its look-up', async () => {
  const cache = open();
  expect(cache.get('a')).toBeUndefined();
  await cache.load('a', async () => {
    vi.advanceTimersByTime(200);
    return answer('ada');
  });
  expect(cache.get('a')).toEqual(caller('ada'));
  expect(cache.get('b')).toBeUndefined();
  vi.advanceTimersByTime(299);
  expect(cache.get('a')).toEqual(caller('ada'));
  vi.advanceTimersByTime(1);
  expect(cache.get('a')).toBeUndefined();
});

test('a result is not cached beyond the end of the credential', async () => {
  const cache = open();
  await cache.load('a', async () => answer('ada', 100));
  vi.advanceTimersByTime(99);
  expect(cache.get('a')).toBeDefined();
  vi.advanceTimersByTime(1);
  expect(cache.get('a')).toBeUndefined();
});

test('requests share a look-up, but not one that began cacheMs ago', async () => {
  const cache = open();
  const held = Promise.withResolvers<Resolved>();
  let lookUps = 0;
  const slow = () => {
    lookUps++;
    return held.promise;
  };
  const first = cache.load('a', slow);
  vi.advanceTimersByTime(499);
  const second = cache.load('a', slow);
  expect(lookUps).toBe(1);
  vi.advanceTimersByTime(1);
  const third = cache.load('a', async () => answer('later'));
  held.resolve(answer('earlier'));
  expect(await first).toEqual(caller('earlier'));
  expect(await second).toEqual(caller('earlier'));
  expect(await third).toEqual(caller('later'));
});

test('an old look-up that ends late does not restore a credential that a newer one refused', async () => {
  const cache = open();
  const held = Promise.withResolvers<Resolved>();
  const old = cache.load('a', () => held.promise);
  vi.advanceTimersByTime(500);
  await expect(cache.load('a', async () => Promise.reject(new Error('revoked')))).rejects.toThrow('revoked');
  held.resolve(answer('earlier'));
  await old;
  expect(cache.get('a')).toBeUndefined();
});

test('a failed look-up is shared, but not cached', async () => {
  const cache = open();
  let lookUps = 0;
  const failing = async () => {
    lookUps++;
    throw new Error('no');
  };
  const together = [cache.load('a', failing), cache.load('a', failing)];
  expect(await Promise.allSettled(together)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  expect(lookUps).toBe(1);
  expect(await cache.load('a', async () => answer('ada'))).toEqual(caller('ada'));
});

test('at most cacheEntriesMax results are cached, and the oldest is evicted', async () => {
  const cache = open(3);
  for (const name of ['a', 'b', 'c', 'a', 'd']) await cache.load(name, async () => answer(name));
  expect(['a', 'b', 'c', 'd'].filter((name) => cache.get(name))).toEqual(['a', 'c', 'd']);
});

test('every request is looked up if cacheMs is 0', async () => {
  const cache = openCredentialCache({ cacheMs: 0, cacheEntriesMax: 10 });
  await cache.load('a', async () => answer('ada'));
  expect(cache.get('a')).toBeUndefined();
});
