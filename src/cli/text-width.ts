import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
/** Texts whose letters take one cell each. */
const ONE_CELL_EACH = /^[\x20-\x7e]*$/;

/**
 * Count the terminal cells of a text; a Korean or Chinese letter takes two. The tables for that take longer to load than
 * most commands take, so they are loaded for the first text that needs them.
 */
export function textWidth(text: string): number {
  if (ONE_CELL_EACH.test(text)) return text.length;
  const { default: stringWidth }: typeof import('string-width') = load('string-width');
  return stringWidth(text);
}
