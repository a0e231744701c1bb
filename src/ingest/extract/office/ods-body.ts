import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import type { BlockDraft } from '../blocks.ts';
import { ExtractError } from '../errors.ts';
import { SheetRows } from './sheet-rows.ts';

const SKIPPED: ReadonlySet<string> = new Set(
  'office:binary-data office:annotation table:shapes table:tracked-changes table:content-validations office:forms'.split(
    ' ',
  ),
);
/** Maximum repetition of a filled row or cell. A file may ask for millions. */
const REPEAT_MAX = 1_000;
/** Maximum number of empty cells to show between two filled ones. */
const GAP_MAX = 16;

/** Converts the body of an OpenDocument spreadsheet to blocks. Its cells contain the text that they display. */
export class OdsBody implements XmlHandler {
  readonly #add: (block: BlockDraft) => void;
  readonly #sheetsMax: number;
  #sheet: SheetRows | null = null;
  #sheets = 0;
  #skipDepth = 0;
  /** Depth of nested tables. */
  #depth = 0;
  #row: string[] = [];
  #rowRepeat = 1;
  #cell: string[] = [];
  #cellRepeat = 1;
  #gap = 0;
  #isText = false;

  constructor(add: (block: BlockDraft) => void, sheetsMax: number) {
    this.#add = add;
    this.#sheetsMax = sheetsMax;
  }

  get sheets(): number {
    return this.#sheets;
  }

  open(name: string, attributes: XmlAttributes): void {
    if (this.#skipDepth > 0 || SKIPPED.has(name)) {
      this.#skipDepth++;
      return;
    }
    switch (name) {
      case 'table:table':
        if (this.#depth++ === 0) this.#openSheet(attributes['table:name'] ?? '');
        break;
      case 'table:table-row':
        this.#row = [];
        this.#gap = 0;
        this.#rowRepeat = repeatOf(attributes['table:number-rows-repeated']);
        break;
      case 'table:table-cell':
      case 'table:covered-table-cell':
        this.#cell = [];
        this.#cellRepeat = repeatOf(attributes['table:number-columns-repeated']);
        break;
      case 'text:p':
      case 'text:line-break':
      case 'text:tab':
      case 'text:s':
        this.#isText = true;
        this.#cell.push(' ');
        break;
      default:
    }
  }

  close(name: string): void {
    if (this.#skipDepth > 0) {
      this.#skipDepth--;
      return;
    }
    switch (name) {
      case 'text:p':
        this.#isText = false;
        break;
      case 'table:table-cell':
      case 'table:covered-table-cell':
        this.#closeCell();
        break;
      case 'table:table-row':
        this.#closeRow();
        break;
      case 'table:table':
        if (--this.#depth === 0) this.#sheet?.end();
        break;
      default:
    }
  }

  text(text: string): void {
    if (this.#isText && this.#skipDepth === 0) this.#cell.push(text);
  }

  #openSheet(name: string): void {
    if (++this.#sheets > this.#sheetsMax) {
      throw new ExtractError('too_large', `the document has more than ${this.#sheetsMax} sheets`);
    }
    this.#sheet = new SheetRows(this.#add, name, this.#sheets);
  }

  #closeCell(): void {
    const text = this.#cell.join('').replace(/\s+/g, ' ').trim();
    if (text === '') {
      this.#gap += this.#cellRepeat;
      return;
    }
    for (let i = Math.min(this.#gap, GAP_MAX); i > 0; i--) this.#row.push('');
    this.#gap = 0;
    for (let i = Math.min(this.#cellRepeat, REPEAT_MAX); i > 0; i--) this.#row.push(text);
  }

  #closeRow(): void {
    const times = this.#row.length === 0 ? 1 : Math.min(this.#rowRepeat, REPEAT_MAX);
    for (let i = 0; i < times; i++) this.#sheet?.addRow(this.#row);
  }
}

function repeatOf(value: string | undefined): number {
  return Math.max(1, Math.trunc(Number(value ?? 1)) || 1);
}
