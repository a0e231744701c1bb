import { expect, test } from 'vitest';
import { writeAtOnce } from '../../src/platform/postgres/write-at-once.ts';

test('what is left for later is done at once, after the code that left it, and only there', () => {
  const original = globalThis.setImmediate;
  const order: string[] = [];
  writeAtOnce(() => {
    setImmediate(() => order.push('written'));
    order.push('submitted');
  });
  writeAtOnce(() => order.push('nothing to write'));
  expect(order).toEqual(['submitted', 'written', 'nothing to write']);
  expect(globalThis.setImmediate).toBe(original);
});

test('an error leaves setImmediate as it was, and nothing undone', () => {
  const original = globalThis.setImmediate;
  const order: string[] = [];
  expect(() =>
    writeAtOnce(() => {
      setImmediate(() => order.push('first'));
      setImmediate(() => order.push('second'));
      throw new Error('not connected');
    }),
  ).toThrow('not connected');
  expect(order).toEqual(['first', 'second']);
  expect(globalThis.setImmediate).toBe(original);
});
