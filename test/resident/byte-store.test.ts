import { expect, it } from 'vitest';
import { ByteStore } from '../../src/resident/byte-store.ts';

it('strings of bytes are found by their numbers, empty ones included, whichever comes first', () => {
  const strings = ['', 'a', '', 'b'.repeat(20_000), '', 'c'.repeat(16 * 1024), 'd'];
  const store = new ByteStore();
  for (const text of strings) store.add(Buffer.from(text));
  expect(strings.map((_, number) => Buffer.from(store.get(number)).toString())).toEqual(strings);
  store.erase(0);
  store.erase(1);
  expect(store.get(0)).toHaveLength(0);
  expect(store.get(1)).toHaveLength(0);
});
