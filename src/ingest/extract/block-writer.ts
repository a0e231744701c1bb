import type { BlockDraft } from './blocks.ts';
import { RowTable } from './row-table.ts';

interface OpenTable {
  /** Rows of an outer table; null for a nested table, whose text becomes part of a cell. */
  readonly rows: RowTable | null;
  readonly nestedLines: string[];
  row: string[];
  cell: BlockDraft[];
  filledCells: number;
  /** Blocks of the only filled cell so far: a one-cell table is a frame around text. */
  onlyCell: BlockDraft[] | null;
  /** Row of that cell, until another cell follows. */
  onlyRow: string[] | null;
}

/**
 * Converter of nested paragraphs and tables of office formats to blocks in reading order. Consecutive lines of code
 * become one listing. A nested table becomes text of a cell. A table with a single filled cell becomes the blocks of
 * that cell.
 */
export class BlockWriter {
  readonly #add: (block: BlockDraft) => void;
  readonly #tables: OpenTable[] = [];
  #code: string[] = [];

  constructor(add: (block: BlockDraft) => void) {
    this.#add = add;
  }

  get isInTable(): boolean {
    return this.#tables.length > 0;
  }

  add(block: BlockDraft): void {
    const table = this.#tables.at(-1);
    if (table !== undefined) {
      if (block.text.trim() !== '') table.cell.push(block);
      return;
    }
    if (block.kind === 'code') {
      this.#code.push(block.text);
      return;
    }
    this.#endCode();
    this.#add(block);
  }

  openTable(): void {
    this.#endCode();
    const isOuter = this.#tables.length === 0;
    const rows = isOuter ? new RowTable(this.#add) : null;
    this.#tables.push({ rows, nestedLines: [], row: [], cell: [], filledCells: 0, onlyCell: null, onlyRow: null });
  }

  closeCell(): void {
    const table = this.#tables.at(-1);
    if (table === undefined) return;
    table.row.push(table.cell.map(({ text }) => text).join(' '));
    if (table.cell.length > 0) {
      table.filledCells++;
      table.onlyCell = table.filledCells === 1 ? table.cell : null;
      table.cell = [];
    }
    if (table.onlyRow !== null && table.filledCells > 1) {
      this.#addRow(table, table.onlyRow);
      table.onlyRow = null;
    }
  }

  closeRow(): void {
    const table = this.#tables.at(-1);
    if (table === undefined || table.row.length === 0) return;
    const { row } = table;
    table.row = [];
    if (table.filledCells === 0) return;
    if (table.onlyCell === null) this.#addRow(table, row);
    else table.onlyRow ??= row;
  }

  closeTable(): void {
    const table = this.#tables.at(-1);
    if (table === undefined) return;
    if (table.cell.length > 0) this.closeCell();
    this.closeRow();
    this.#tables.pop();
    if (table.onlyCell !== null) {
      for (const block of table.onlyCell) this.add(block);
    } else if (table.rows !== null) {
      table.rows.end();
    } else {
      for (const line of table.nestedLines) this.add({ kind: 'paragraph', text: line });
    }
  }

  /** Close tables and listings that the document left open. */
  end(): void {
    while (this.#tables.length > 0) this.closeTable();
    this.#endCode();
  }

  #addRow(table: OpenTable, row: string[]): void {
    if (table.rows === null) table.nestedLines.push(row.filter((cell) => cell.trim() !== '').join(' '));
    else table.rows.addRow(row);
  }

  #endCode(): void {
    if (this.#code.length === 0) return;
    this.#add({ kind: 'code', text: this.#code.join('\n') });
    this.#code = [];
  }
}
