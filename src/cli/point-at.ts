import { textWidth } from './text-width.ts';

/** Cells to keep visible after the column if the line is cut on the left. */
const AFTER_CELLS = 20;

/**
 * Render the line that a message refers to, with a caret under the column.
 *
 * @param place line and column, from 1; a column counts code points
 * @param cellsMax width of the terminal; a longer line is cut around the column
 */
export function pointAt(text: string, place: { line: number; column: number }, cellsMax: number): string {
  const line = Array.from(text.split(/\r\n|\r|\n/)[place.line - 1] ?? '').map(toShown);
  const before = line.slice(0, place.column - 1);
  const after = line.slice(place.column - 1);
  const isCut = widthOf(before) > cellsMax - AFTER_CELLS;
  while (widthOf(before) > cellsMax - AFTER_CELLS) before.shift();
  if (isCut) before.unshift('…');
  while (widthOf([...before, ...after]) > cellsMax) after.pop();
  return `${before.join('')}${after.join('')}\n${' '.repeat(widthOf(before))}^`;
}

function widthOf(characters: readonly string[]): number {
  return textWidth(characters.join(''));
}

/** Return a character, or a space in place of a control or invisible character. */
function toShown(character: string): string {
  return /^[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]$/u.test(character) ? ' ' : character;
}
