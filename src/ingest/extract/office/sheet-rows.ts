import type { BlockDraft } from '../blocks.ts';
import { RowTable } from '../row-table.ts';

/**
 * Builder of a sheet's blocks: its name as a heading once it has a cell, and a table for every run of non-empty rows.
 */
export class SheetRows {
  readonly place: { readonly page: number; readonly sheet: string };
  readonly #add: (block: BlockDraft) => void;
  readonly #name: string;
  #table: RowTable | null = null;
  #hasName = false;

  constructor(add: (block: BlockDraft) => void, name: string, page: number) {
    this.#name = name.trim() === '' ? `Sheet ${page}` : name.trim();
    this.place = { page, sheet: this.#name };
    this.#add = (block) => add({ ...block, ...this.place });
  }

  addRow(cells: readonly string[]): void {
    if (cells.every((cell) => cell.trim() === '')) {
      this.endTable();
      return;
    }
    this.addName();
    this.#table ??= new RowTable(this.#add);
    this.#table.addRow(cells);
  }

  /** Add text from above the cells, after the tables so far. */
  addBlock(block: BlockDraft): void {
    this.endTable();
    this.addName();
    this.#add(block);
  }

  /** True once anything has been added. */
  get hasText(): boolean {
    return this.#hasName;
  }

  /** Add the sheet's name as a heading, once. */
  addName(): void {
    if (!this.#hasName) this.#add({ kind: 'heading', level: 1, text: this.#name });
    this.#hasName = true;
  }

  /** End the current table. An empty row separates two tables. */
  endTable(): void {
    this.#table?.end();
    this.#table = null;
  }

  end(): void {
    this.endTable();
  }
}
