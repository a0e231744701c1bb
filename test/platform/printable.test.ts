import { expect, test } from 'vitest';
import { fileNameOf, oneLine, printable } from '../../src/platform/printable.ts';

test('printable texts contain nothing that controls a terminal or changes the direction of the text', () => {
  expect(oneLine('a\r\nb\tc\u001b[31m\u0000d\u202ee\u2028f')).toBe('a b c [31m d e f');
  expect(printable('a\nb\tc\u001b[31m\u0000d\u202ee\u2066f')).toBe('a\nb\tc[31mdef');
  expect(fileNameOf('\u202efdp.txt/..\\a\u0000\u001bb')).toBe('_fdp.txt_.._a_b');
});

test('letters of every script stay as they are', () => {
  for (const text of ['가나다 🎉', 'مرحبا', 'שלום', '港口 café']) {
    expect([oneLine(text), printable(text), fileNameOf(text)]).toEqual([text, text, text]);
  }
});
