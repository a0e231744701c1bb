import type { BlockDraft } from '../blocks.ts';
import { RowTable } from '../row-table.ts';

/**
 * Builder of the blocks of one sheet: its name as a heading once it has a cell, and a table for every sequence of
 * filled rows.
 */
export class SheetRows {
  readonly #add: (block: BlockDraft) => void;
  readonly #name: string;
  #table: RowTable | null = null;
  #hasName = false;

  constructor(add: (block: BlockDraft) => void, name: string, page: number) {
    this.#name = name.trim() === '' ? `Sheet ${page}` : name.trim();
    this.#add = (block) => add({ ...block, page, sheet: this.#name });
  }

  addRow(cells: readonly string[]): void {
    if (cells.every((cell) => cell.trim() === '')) {
      this.endTable();
      return;
    }
    if (!this.#hasName) this.#add({ kind: 'heading', level: 1, text: this.#name });
    this.#hasName = true;
    this.#table ??= new RowTable(this.#add);
    this.#table.addRow(cells);
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
