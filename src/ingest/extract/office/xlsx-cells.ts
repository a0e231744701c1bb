import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import type { SheetRows } from './sheet-rows.ts';
import type { CellFormats } from './xlsx-formats.ts';

/** Maximum number of empty cells to show between two non-empty ones. */
const GAP_MAX = 16;

/** Converter of the cells of a worksheet (ISO/IEC 29500-1, 18.3.1) to rows of text. */
export class SheetCells implements XmlHandler {
  readonly #rows: SheetRows;
  readonly #strings: readonly string[];
  readonly #formats: CellFormats;
  #row = 0;
  #cells: string[] = [];
  #column = 0;
  /** Column of the last non-empty cell. */
  #filledColumn = 0;
  #type = 'n';
  #style = 0;
  #value: string[] = [];
  #isValue = false;
  #phonetic = 0;

  constructor(rows: SheetRows, strings: readonly string[], formats: CellFormats) {
    this.#rows = rows;
    this.#strings = strings;
    this.#formats = formats;
  }

  open(name: string, attributes: XmlAttributes): void {
    switch (name) {
      case 'x:row': {
        const number = Number(attributes['r'] ?? this.#row + 1);
        if (number !== this.#row + 1) this.#rows.endTable();
        this.#row = number;
        this.#cells = [];
        this.#column = 0;
        this.#filledColumn = 0;
        break;
      }
      case 'x:c':
        this.#type = attributes['t'] ?? 'n';
        this.#style = Number(attributes['s']) || 0;
        this.#column = columnOf(attributes['r']) ?? this.#column + 1;
        this.#value = [];
        break;
      case 'x:rPh':
        this.#phonetic++;
        break;
      case 'x:v':
      case 'x:t':
        this.#isValue = this.#phonetic === 0;
        break;
      default:
    }
  }

  close(name: string): void {
    switch (name) {
      case 'x:v':
      case 'x:t':
        this.#isValue = false;
        break;
      case 'x:rPh':
        this.#phonetic--;
        break;
      case 'x:c':
        this.#endCell();
        break;
      case 'x:row':
        this.#rows.addRow(this.#cells);
        break;
      default:
    }
  }

  text(text: string): void {
    if (this.#isValue) this.#value.push(text);
  }

  #endCell(): void {
    const text = this.#textOf(this.#value.join(''));
    if (text === '') return;
    const gap = Math.min(this.#column - 1 - this.#filledColumn, GAP_MAX);
    this.#filledColumn = this.#column;
    for (let i = 0; i < gap; i++) this.#cells.push('');
    this.#cells.push(text);
  }

  #textOf(value: string): string {
    switch (this.#type) {
      case 's':
        return this.#strings[Number(value)] ?? '';
      case 'str':
      case 'inlineStr':
        return unescapeString(value);
      case 'b':
        return value === '1' ? 'TRUE' : value === '0' ? 'FALSE' : value;
      case 'n':
        return this.#formats.show(value, this.#style);
      default:
        // The value is a displayed error or an ISO 8601 date.
        return value;
    }
  }
}

/** Replace the escapes of characters that XML can't contain, such as `_x000D_` (ISO/IEC 29500-1, 22.9.2.19). */
export function unescapeString(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Return the column number of a cell reference: 1 for `A7`, 28 for `AB7`. */
function columnOf(reference: string | undefined): number | null {
  const letters = /^\$?([A-Za-z]{1,3})/.exec(reference ?? '')?.[1];
  if (letters === undefined) return null;
  let column = 0;
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return column;
}
