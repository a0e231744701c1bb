import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { wrapText } from '../../src/cli/wrap-text.ts';

test('wrapText breaks at spaces and keeps line breaks', () => {
  expect(wrapText('one two  three\nfour', 8)).toEqual(['one two', 'three', 'four']);
});

test('wrapText breaks a word that is longer than a line between visible letters', () => {
  expect(wrapText('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  const lines = wrapText('연차휴가는매년십오일입니다', 9);
  expect(lines.join('')).toBe('연차휴가는매년십오일입니다');
  for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(9);
});

test('wrapText without a bound keeps lines whole', () => {
  expect(wrapText('a b c '.repeat(100), Number.POSITIVE_INFINITY)).toHaveLength(1);
});
