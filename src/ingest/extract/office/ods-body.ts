import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import type { BlockDraft } from '../blocks.ts';
import { ExtractError } from '../errors.ts';
import type { OdfCharts } from './odf-charts.ts';
import type { PicturePlace } from './package-pictures.ts';
import { SheetRows } from './sheet-rows.ts';
import { showNumber } from './xlsx-formats.ts';

const SKIPPED: ReadonlySet<string> = new Set(
  'office:binary-data office:annotation table:tracked-changes table:content-validations office:forms'.split(' '),
);
/** Maximum repetition of a non-empty row or cell. A file may ask for millions. */
const REPEAT_MAX = 1_000;
/** Maximum number of empty cells to show between two non-empty ones. */
const GAP_MAX = 16;
const EXPONENT = /^-?\d(?:[.,]\d+)?E\+?\d+$/;

/** Converter of the body of an OpenDocument spreadsheet to blocks. Its cells contain the displayed text. */
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
  /** Number of the cell as stored in the file. */
  #number = '';
  #gap = 0;
  #isText = false;

  readonly #charts: OdfCharts;
  readonly #onPicture: (name: string, place: PicturePlace) => void;
  /** Depth within a sheet's shapes, and the text above its cells. */
  #shapesDepth = 0;
  #over: BlockDraft[] = [];

  constructor(
    add: (block: BlockDraft) => void,
    sheetsMax: number,
    charts: OdfCharts,
    onPicture: (name: string, place: PicturePlace) => void,
  ) {
    this.#onPicture = onPicture;
    this.#charts = charts;
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
    if (name === 'draw:object') this.#over.push(...(this.#charts.get(attributes['xlink:href'] ?? '') ?? []));
    if (name === 'draw:image' && this.#sheet !== null)
      this.#onPicture((attributes['xlink:href'] ?? '').replace(/^\.\//, ''), this.#sheet.place);
    if (name === 'table:shapes' || this.#shapesDepth > 0) this.#openShape(name);
    else this.#openCell(name, attributes);
  }

  #openShape(name: string): void {
    this.#shapesDepth++;
    if (name === 'text:p') this.#cell = [];
    this.#isText ||= name === 'text:p';
    if (/^text:(?:line-break|tab|s)$/.test(name)) this.#cell.push(' ');
  }

  #closeShape(name: string): void {
    this.#shapesDepth--;
    if (name !== 'text:p') return;
    this.#isText = false;
    const text = this.#cell.join('').trim();
    this.#cell = [];
    if (text !== '') this.#over.push({ kind: 'paragraph', text });
  }

  #openCell(name: string, attributes: XmlAttributes): void {
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
        this.#number = attributes['office:value'] ?? '';
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
    if (this.#shapesDepth > 0) {
      this.#closeShape(name);
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
        if (--this.#depth === 0) this.#endSheet();
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

  #endSheet(): void {
    this.#sheet?.end();
    for (const block of this.#over.splice(0)) this.#sheet?.addBlock(block);
  }

  #closeCell(): void {
    const shown = this.#cell.join('').replace(/\s+/g, ' ').trim();
    // Display with an exponent drops digits that the cell's value still has.
    const text = EXPONENT.test(shown) ? showNumber(this.#number, 'General') : shown;
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
