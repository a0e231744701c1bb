import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { pointAt } from '../../src/cli/point-at.ts';

test.each([
  ['the column of the line', 'SELECT documents\nWHERE team ~ 1', { line: 2, column: 12 }, 'WHERE team ~ 1', 11],
  ['the place past the end', 'SELECT', { line: 1, column: 7 }, 'SELECT', 6],
  ['the place after letters of two cells', "team = '한국' x", { line: 1, column: 13 }, "team = '한국' x", 14],
  ['the place after an emoji', "a = '👍' x", { line: 1, column: 9 }, "a = '👍' x", 9],
  ['a character that a terminal would interpret', 'a\u001b[31m = \u202e1', { line: 1, column: 2 }, 'a [31m =  1', 1],
  ['the start of an empty text', '', { line: 1, column: 1 }, '', 0],
])('the caret points at %s', (_, text, place, shown, cells) => {
  expect(pointAt(text, place, 80)).toBe(`${shown}\n${' '.repeat(cells)}^`);
});

test.each([1, 39, 40, 200, 399, 401])('column %i of a long line stays visible on a narrow terminal', (column) => {
  const text = Array.from({ length: 400 }, (_, at) => (at === column - 1 ? '!' : '가')).join('');
  const [line = '', caret = ''] = pointAt(text, { line: 1, column }, 40).split('\n');
  expect(stringWidth(line)).toBeLessThanOrEqual(40);
  expect(caret.length).toBeLessThanOrEqual(41);
  const under = Array.from(line).find((_, at, all) => stringWidth(all.slice(0, at).join('')) === caret.length - 1);
  expect(under).toBe(column > 400 ? undefined : '!');
});
