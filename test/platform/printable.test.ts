import { expect, test } from 'vitest';
import { boundedLine, fileNameOf, oneLine, printable } from '../../src/platform/printable.ts';

test('printable texts contain nothing that controls a terminal or changes the direction of the text', () => {
  expect(oneLine('a\r\nb\tc\u001b[31m\u0000d\u202ee\u2028f')).toBe('a b c [31m d e f');
  expect(printable('a\nb\tc\u001b[31m\u0000d\u202ee\u2066f')).toBe('a\nb\tc[31mdef');
  expect(fileNameOf('\u202efdp.txt/..\\a\u0000\u001bb')).toBe('_fdp.txt_.._a_b');
});

test('a bounded line is well-formed, is at most as long as its bound, and cuts no character in two', () => {
  expect(boundedLine(' a\n\u0000b\ud83d ', 10)).toBe('a b\ufffd');
  expect(boundedLine('abcde', 5)).toBe('abcde');
  expect(boundedLine('abcdef', 5)).toBe('abcd…');
  expect(boundedLine('abc🎉def', 5)).toBe('abc…');
});

test('letters of every script stay as they are', () => {
  for (const text of ['가나다 🎉', 'مرحبا', 'שלום', '港口 café']) {
    expect([oneLine(text), printable(text), fileNameOf(text)]).toEqual([text, text, text]);
  }
});
