import type { BlockDraft } from './blocks.ts';
import { wholeCharacters } from './whole-characters.ts';

/** Size above which a table is split into several blocks. */
const BLOCK_CHARS = 16 * 1024;
const HEADER_CHARS_MAX = 800;
const HEADER_CELL_CHARS_MAX = 64;
/** Maximum number of title rows above the column names, each with one non-empty cell. */
const TITLE_ROWS_MAX = 4;
const CELL_CHARS_MAX = 64 * 1024;

/**
 * Builder of a table, row by row. A small table becomes one block with one line per row (`a | b | c`), a large one
 * several. If the first row with several cells names the columns, it is the `header` of every block, so that every
 * chunk of the table can have the column names.
 */
export class RowTable {
  readonly #add: (block: BlockDraft) => void;
  /** Column names; undefined if the table has none, null until known. */
  #header: string | undefined | null = null;
  #titleRows = 0;
  #lines: string[] = [];
  #chars = 0;

  constructor(add: (block: BlockDraft) => void) {
    this.#add = add;
  }

  addRow(cells: readonly string[]): void {
    const tidy = cells.map(tidyCell);
    while (tidy.at(-1) === '') tidy.pop();
    if (tidy.length === 0) return;
    const line = tidy.join(' | ');
    if (this.#header === null) this.#header = this.#headerOf(tidy, line);
    this.#lines.push(line);
    this.#chars += line.length + 1;
    if (this.#chars >= BLOCK_CHARS) this.#flush();
  }

  end(): void {
    this.#flush();
  }

  #headerOf(cells: readonly string[], line: string): string | undefined | null {
    const isTitle = cells.filter((cell) => cell !== '').length === 1 && ++this.#titleRows <= TITLE_ROWS_MAX;
    if (isTitle) return null;
    return line.length <= HEADER_CHARS_MAX && namesColumns(cells) ? line : undefined;
  }

  #flush(): void {
    const header = this.#header ?? null;
    const text = this.#lines.join('\n');
    if (text !== '') this.#add({ kind: 'table', text, ...(header === null ? {} : { header }) });
    this.#lines = [];
    this.#chars = 0;
  }
}

/** Reduce a cell to one line. Split an extremely long cell into several lines, so that windows stay small. */
function tidyCell(cell: string): string {
  const text = /\s\s|[^\S ]/.test(cell) ? cell.replace(/\s+/g, ' ').trim() : cell.trim();
  if (text.length <= CELL_CHARS_MAX) return text;
  const parts: string[] = [];
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = wholeCharacters(text, at + CELL_CHARS_MAX, at);
    parts.push(text.slice(at, end));
  }
  return parts.join('\n');
}

/** Return true for a row of at least two short, distinct texts, none of which is a number, except for years. */
function namesColumns(cells: readonly string[]): boolean {
  const names = cells.filter((cell) => cell !== '');
  return (
    names.length >= 2 &&
    names.some((name) => /\p{L}/u.test(name)) &&
    names.every(
      (name) => name.length <= HEADER_CELL_CHARS_MAX && (/\p{L}/u.test(name) || /^(19|20)\d\d$/.test(name)),
    ) &&
    new Set(names).size === names.length
  );
}
