import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
/** Texts in which every character takes one cell. */
const ONE_CELL_EACH = /^[\x20-\x7e]*$/;

/**
 * Count the terminal cells of a text; a Korean or Chinese letter takes two. Load the width tables only when a text
 * needs them, because that takes longer than most commands.
 */
export function textWidth(text: string): number {
  if (ONE_CELL_EACH.test(text)) return text.length;
  const { default: stringWidth }: typeof import('string-width') = load('string-width');
  return stringWidth(text);
}
