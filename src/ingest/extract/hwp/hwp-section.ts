import type { BlockWriter } from '../block-writer.ts';
import type { HancomNumbering, ParagraphRole } from './hancom-numbering.ts';
import { type HwpRecord, paragraphText, TAG } from './hwp-records.ts';
import { paragraphBlock } from './paragraph-block.ts';

interface Control {
  /** Identifier such as `tbl ` or `fn  `. */
  readonly id: string;
  readonly level: number;
  /** True once a table's properties have been read; lists after them are cells. */
  isTableOpen: boolean;
  /** Row of the last cell of a table. */
  row: number;
  hasCell: boolean;
}

const TABLE = 'tbl ';
const NOTES: ReadonlySet<string> = new Set(['fn  ', 'en  ']);
/** Headers, footers and comments. */
const SKIPPED: ReadonlySet<string> = new Set(['head', 'foot', 'tcmt']);
const ROW_OF_CELL = 10;

/** Converter of a section's records to blocks. Records are in document order; their levels define the tree. */
export class HwpSection {
  readonly #writer: BlockWriter;
  readonly #roles: ReadonlyMap<number, ParagraphRole>;
  /** Open controls, outermost first. */
  readonly #controls: Control[] = [];
  #role: ParagraphRole | null = null;
  #notes: string[] = [];

  readonly #numbering: HancomNumbering;
  #label: string | null = null;

  constructor(writer: BlockWriter, roles: ReadonlyMap<number, ParagraphRole>, numbering: HancomNumbering) {
    this.#numbering = numbering;
    this.#writer = writer;
    this.#roles = roles;
  }

  take({ tag, level, data }: HwpRecord): void {
    while ((this.#controls.at(-1)?.level ?? -1) >= level) this.#closeControl();
    switch (tag) {
      case TAG.paragraphHeader:
        this.#role = data.length >= 10 ? (this.#roles.get(data.readUInt16LE(8)) ?? null) : null;
        this.#label = this.#role === null || this.#isSkipped ? null : this.#numbering.labelOf(this.#role);
        this.#addNotes();
        break;
      case TAG.paragraphText:
        this.#addText(paragraphText(data));
        break;
      case TAG.controlHeader:
        this.#openControl(data, level);
        break;
      case TAG.table:
        this.#openTable();
        break;
      case TAG.listHeader:
        this.#openList(data, level);
        break;
      case TAG.equation:
        this.#addEquation(data);
        break;
      default:
    }
  }

  end(): void {
    while (this.#controls.length > 0) this.#closeControl();
    this.#addNotes();
  }

  get #isSkipped(): boolean {
    return this.#controls.some(({ id }) => SKIPPED.has(id));
  }

  #addText(text: string): void {
    if (text.trim() === '' || this.#isSkipped) return;
    if (this.#controls.some(({ id }) => NOTES.has(id))) this.#notes.push(text);
    else this.#writer.add(paragraphBlock(text, this.#role, this.#label));
  }

  #openControl(data: Buffer, level: number): void {
    // The file stores the identifier as a little-endian number, so its letters are reversed.
    const id = data.length >= 4 ? data.toString('latin1', 0, 4).split('').reverse().join('') : '';
    this.#controls.push({ id, level, isTableOpen: false, row: 0, hasCell: false });
  }

  #openTable(): void {
    const control = this.#controls.at(-1);
    if (control?.id !== TABLE || control.isTableOpen) return;
    control.isTableOpen = true;
    this.#writer.openTable();
  }

  /** Open a list of paragraphs. Directly below a table it is a cell, or, before the table's properties, the caption. */
  #openList(data: Buffer, level: number): void {
    const control = this.#controls.at(-1);
    if (control === undefined || !control.isTableOpen || level !== control.level + 1) return;
    this.#closeCell(control);
    const row = data.length >= ROW_OF_CELL + 2 ? data.readUInt16LE(ROW_OF_CELL) : control.row;
    if (row !== control.row) this.#writer.closeRow();
    control.row = row;
    control.hasCell = true;
  }

  #closeCell(control: Control): void {
    if (control.hasCell) this.#writer.closeCell();
    control.hasCell = false;
  }

  #closeControl(): void {
    const control = this.#controls.pop();
    if (control === undefined || !control.isTableOpen) return;
    this.#closeCell(control);
    this.#writer.closeTable();
  }

  /** Add the script of an equation: attributes (4 bytes), length in characters (2), UTF-16. */
  #addEquation(data: Buffer): void {
    if (data.length < 6) return;
    const end = Math.min(6 + data.readUInt16LE(4) * 2, data.length & ~1);
    this.#addText(data.toString('utf16le', 6, end));
  }

  /** Add notes after the paragraph that refers to them, but not between the cells of a table. */
  #addNotes(): void {
    if (this.#controls.length > 0) return;
    for (const text of this.#notes.splice(0)) this.#writer.add({ kind: 'paragraph', text });
  }
}
