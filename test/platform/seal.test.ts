import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { seal, unseal } from '../../src/platform/seal.ts';

const key = randomBytes(32);

test('a sealed text is decrypted with the same key and context, and differs each time', () => {
  for (const text of ['', 'a', '열쇠 🔑', 'x'.repeat(100_000)]) {
    expect(unseal(key, seal(key, text, 'row 1'), 'row 1')).toBe(text);
  }
  expect(seal(key, 'a', 'row 1')).not.toEqual(seal(key, 'a', 'row 1'));
  expect(seal(key, 'plain text', 'row 1').includes('plain')).toBe(false);
});

test('a sealed text is refused with another key, another context or any changed byte', () => {
  const sealed = seal(key, 'secret', 'row 1');
  const unreadable = expect.objectContaining({ code: 'sealed_value_unreadable' });
  expect(() => unseal(randomBytes(32), sealed, 'row 1')).toThrow(unreadable);
  expect(() => unseal(key, sealed, 'row 2')).toThrow(unreadable);
  expect(() => unseal(key, sealed.subarray(0, 10), 'row 1')).toThrow(unreadable);
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => unseal(key, changed, 'row 1')).toThrow(unreadable);
  }
});
