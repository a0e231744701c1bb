import type { BlockDraft } from './blocks.ts';

/** Size from which a table is divided into several blocks. */
const BLOCK_CHARS = 16 * 1024;
const HEADER_CHARS_MAX = 400;
const HEADER_CELL_CHARS_MAX = 64;
const CELL_CHARS_MAX = 64 * 1024;

/**
 * Builder of a table row by row. A small table becomes one block with one line per row (`a | b | c`). A large one
 * becomes several blocks; if `headingLevel` is given and the first row names the columns, that row becomes a heading,
 * so that every chunk of the table has the names of its columns.
 */
export class RowTable {
  readonly #add: (block: BlockDraft) => void;
  readonly #headingLevel: number | null;
  readonly #page: { page?: number };
  #header: readonly string[] | null = null;
  #lines: string[] = [];
  #chars = 0;
  #isCut = false;
  #hasHeading = false;

  constructor(add: (block: BlockDraft) => void, options: { headingLevel?: number; page?: number | undefined } = {}) {
    this.#add = add;
    this.#headingLevel = options.headingLevel ?? null;
    this.#page = options.page === undefined ? {} : { page: options.page };
  }

  /** True if the names of the columns were added as a heading. */
  get hasHeading(): boolean {
    return this.#hasHeading;
  }

  addRow(cells: readonly string[]): void {
    const tidy = cells.map(tidyCell);
    while (tidy.at(-1) === '') tidy.pop();
    if (tidy.length === 0) return;
    if (this.#header === null) this.#header = tidy;
    const line = tidy.join(' | ');
    this.#lines.push(line);
    this.#chars += line.length + 1;
    if (this.#chars >= BLOCK_CHARS) this.#cut();
  }

  end(): void {
    this.#flush();
  }

  #cut(): void {
    if (!this.#isCut && this.#headingLevel !== null && namesColumns(this.#header as readonly string[])) {
      this.#add({ kind: 'heading', level: this.#headingLevel, text: this.#lines.shift() as string, ...this.#page });
      this.#hasHeading = true;
    }
    this.#isCut = true;
    this.#flush();
  }

  #flush(): void {
    if (this.#lines.length > 0) this.#add({ kind: 'table', text: this.#lines.join('\n'), ...this.#page });
    this.#lines = [];
    this.#chars = 0;
  }
}

/** Reduces a cell to one line. An extremely long cell is cut into several lines, so that windows stay small. */
function tidyCell(cell: string): string {
  const text = /\s\s|[^\S ]/.test(cell) ? cell.replace(/\s+/g, ' ').trim() : cell.trim();
  if (text.length <= CELL_CHARS_MAX) return text;
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += CELL_CHARS_MAX) parts.push(text.slice(at, at + CELL_CHARS_MAX));
  return parts.join('\n');
}

/** Returns true for a row of short, distinct texts that are not numbers, which names the columns. */
function namesColumns(cells: readonly string[]): boolean {
  return (
    cells.length >= 2 &&
    cells.every(
      (cell) => cell.length <= HEADER_CELL_CHARS_MAX && /\p{L}/u.test(cell) && !/^[-+\d.,%/: ]+$/.test(cell),
    ) &&
    new Set(cells).size === cells.length &&
    cells.join(' | ').length <= HEADER_CHARS_MAX
  );
}
