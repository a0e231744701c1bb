import { createHmac, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  API_KEY_CHARS_MAX,
  hashCredential,
  isSameHash,
  newApiKey,
  parseApiKey,
} from '../../src/access/api-key-format.ts';
import { SEED } from '../support/random.ts';

test('a new key has the documented form and parses to its public id', () => {
  for (let i = 0; i < 200; i++) {
    const { id, key } = newApiKey();
    const text = key.reveal();
    expect(text).toMatch(/^svc_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    expect(text.length).toBeLessThanOrEqual(API_KEY_CHARS_MAX);
    expect(parseApiKey(text)).toEqual({ id });
  }
});

test('no two keys are equal', () => {
  const keys = Array.from({ length: 1000 }, () => newApiKey());
  expect(new Set(keys.map(({ id }) => id)).size).toBe(1000);
  expect(new Set(keys.map(({ key }) => key.reveal().slice(13, 56))).size).toBe(1000);
});

test('every base-62 digit is equally likely in the random part', () => {
  const counts = new Map<string, number>();
  const keys = 4000;
  for (let i = 0; i < keys; i++) {
    for (const digit of newApiKey().key.reveal().slice(13, 56)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  }
  const expected = (keys * 43) / 62;
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  expect(counts.size).toBe(62);
  // 61 degrees of freedom: exceeded by chance once in 10^9; taking bytes modulo 62 gives about 1,100 here.
  expect(chiSquare).toBeLessThan(155);
});

test('a key with any one character changed does not match its checksum and is refused', () => {
  const text = newApiKey().key.reveal();
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom(...'09AZaz_'), (at, character) => {
      const changed = text.slice(0, at) + character + text.slice(at + 1);
      expect(parseApiKey(changed) !== null).toBe(changed === text);
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test('the checksum is the CRC-32 of the preceding text in base 62, so that known keys remain valid', () => {
  // CRC-32 of the body by another implementation: 4_293_611_308.
  expect(parseApiKey(`svc_AAAAAAAA_${'A'.repeat(43)}_4gZYRI`)).toEqual({ id: 'AAAAAAAA' });
});

test.each(['', 'svc_', 'sk-123', 'svc_short_abc_123456', `svc_${'a'.repeat(8)}_${'b'.repeat(43)}_`])(
  'the text %j is not a key',
  (text) => {
    expect(parseApiKey(text)).toBeNull();
  },
);

test('the hash is HMAC-SHA-256 under the pepper', () => {
  const pepper = randomBytes(32);
  const text = newApiKey().key.reveal();
  expect(hashCredential(pepper, text)).toEqual(createHmac('sha256', pepper).update(text).digest());
  expect(hashCredential(randomBytes(32), text)).not.toEqual(hashCredential(pepper, text));
});

test('hashes are the same only when they are equal in length and bytes', () => {
  const hash = randomBytes(32);
  const other = Buffer.from(hash);
  other[31] = (other[31] ?? 0) ^ 1;
  expect(isSameHash(hash, Buffer.from(hash))).toBe(true);
  expect(isSameHash(hash, other)).toBe(false);
  expect(isSameHash(hash, hash.subarray(0, 31))).toBe(false);
  expect(isSameHash(Buffer.alloc(0), hash)).toBe(false);
});

test('a new key is not shown by printing or inspecting it', () => {
  const created = newApiKey();
  const secret = created.key.reveal();
  for (const shown of [
    JSON.stringify(created),
    inspect(created, { depth: null, showHidden: true }),
    `${created.key}`,
  ]) {
    expect(shown).not.toContain(secret);
    expect(shown).not.toContain(secret.slice(13, 56));
  }
});
