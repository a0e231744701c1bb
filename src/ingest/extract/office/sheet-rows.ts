import type { BlockDraft } from '../blocks.ts';
import { RowTable } from '../row-table.ts';

/**
 * Builder of the blocks of one sheet: its name as a heading once it has a cell, and a table for every sequence of
 * filled rows.
 */
export class SheetRows {
  readonly #add: (block: BlockDraft) => void;
  readonly #name: string;
  readonly #page: number;
  #table: RowTable | null = null;
  #hasName = false;

  constructor(add: (block: BlockDraft) => void, name: string, page: number) {
    this.#add = add;
    this.#name = name;
    this.#page = page;
  }

  addRow(cells: readonly string[]): void {
    if (cells.every((cell) => cell.trim() === '')) {
      this.endTable();
      return;
    }
    if (this.#table === null) {
      if (!this.#hasName) this.#addName();
      this.#table = new RowTable(this.#add, { headingLevel: 2, page: this.#page });
    }
    this.#table.addRow(cells);
  }

  /** Ends the current table; an empty row separates two tables. */
  endTable(): void {
    this.#table?.end();
    // The column names of one table must not become the heading of the next.
    if (this.#table?.hasHeading) this.#hasName = false;
    this.#table = null;
  }

  end(): void {
    this.endTable();
  }

  #addName(): void {
    this.#hasName = true;
    if (this.#name.trim() !== '') this.#add({ kind: 'heading', level: 1, text: this.#name, page: this.#page });
  }
}
