import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import type { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import type { DocxNumbering } from './docx-numbering.ts';
import { outlineLevelOf, type ParagraphStyle } from './docx-styles.ts';

interface Paragraph {
  readonly text: string[];
  style: string | null;
  outlineLevel: number | null;
  numId: string | null;
  listLevel: number | null;
  readonly notes: string[];
  readonly drawings: BlockDraft[];
}

export interface DocxParts {
  readonly styles: ReadonlyMap<string, ParagraphStyle>;
  readonly numbering: DocxNumbering | null;
  /** Paragraphs by note: `footnote 1`, `endnote 1`. */
  readonly notes: ReadonlyMap<string, readonly string[]>;
  /** Blocks of charts and diagrams by relationship id. */
  readonly drawings: ReadonlyMap<string, readonly BlockDraft[]>;
}

/** Former states of tracked changes, moved and deleted text, fallback drawings, ruby readings. */
const SKIPPED: ReadonlySet<string> = new Set(
  (
    'mc:Fallback w:moveFrom w:del w:pPrChange w:rPrChange w:sectPrChange w:tblPrChange w:tcPrChange w:trPrChange ' +
    'w:numberingChange w:rt w:instrText w:delText w:delInstrText'
  ).split(' '),
);
const HEADING_CHARS_MAX = 1_000;

/** Converter of the elements of a WordprocessingML story (ISO/IEC 29500-1, 17.3) to blocks. */
export class DocxBody implements XmlHandler {
  readonly #writer: BlockWriter;
  readonly #parts: DocxParts;
  /** Open paragraphs: a text box contains paragraphs within a run of another one. */
  readonly #paragraphs: Paragraph[] = [];
  #skipDepth = 0;
  #runDepth = 0;
  #isHidden = false;
  #isText = false;
  /** True once a title has been read; later headings are one level below it. */
  #hasTitle = false;
  #pendingNotes: string[] = [];

  constructor(writer: BlockWriter, parts: DocxParts) {
    this.#writer = writer;
    this.#parts = parts;
  }

  open(name: string, attributes: XmlAttributes): void {
    if (this.#skipDepth > 0 || SKIPPED.has(name)) {
      this.#skipDepth++;
      return;
    }
    const paragraph = this.#paragraphs.at(-1);
    switch (name) {
      case 'w:p':
        this.#paragraphs.push({
          text: [],
          style: null,
          outlineLevel: null,
          numId: null,
          listLevel: null,
          notes: [],
          drawings: [],
        });
        break;
      case 'w:pStyle':
        if (paragraph) paragraph.style = attributes['w:val'] ?? null;
        break;
      case 'w:outlineLvl':
        if (paragraph) paragraph.outlineLevel = outlineLevelOf(attributes['w:val'] ?? '');
        break;
      case 'w:numId':
        if (paragraph) paragraph.numId = attributes['w:val'] ?? null;
        break;
      case 'w:ilvl':
        if (paragraph) paragraph.listLevel = Number(attributes['w:val']);
        break;
      case 'w:r':
        this.#runDepth++;
        this.#isHidden = false;
        break;
      case 'w:vanish':
        if (this.#runDepth > 0) this.#isHidden = !/^(0|false|off)$/.test(attributes['w:val'] ?? '');
        break;
      case 'w:t':
      case 'm:t':
        this.#isText = true;
        break;
      case 'c:chart':
        paragraph?.drawings.push(...(this.#parts.drawings.get(attributes['r:id'] ?? '') ?? []));
        break;
      case 'dgm:relIds':
        paragraph?.drawings.push(...(this.#parts.drawings.get(attributes['r:dm'] ?? '') ?? []));
        break;
      case 'w:tbl':
        this.#writer.openTable();
        break;
      default:
        if (this.#runDepth > 0 && paragraph && !this.#isHidden) this.#inRun(paragraph, name, attributes);
    }
  }

  close(name: string): void {
    if (this.#skipDepth > 0) {
      this.#skipDepth--;
      return;
    }
    switch (name) {
      case 'w:p':
        this.#endParagraph();
        break;
      case 'w:r':
        this.#runDepth--;
        this.#isHidden = false;
        break;
      case 'w:t':
      case 'm:t':
        this.#isText = false;
        break;
      case 'w:tc':
        this.#writer.closeCell();
        break;
      case 'w:tr':
        this.#writer.closeRow();
        break;
      case 'w:tbl':
        this.#writer.closeTable();
        this.#addNotes();
        break;
      default:
    }
  }

  text(text: string): void {
    if (this.#isText && this.#skipDepth === 0 && !this.#isHidden) this.#paragraphs.at(-1)?.text.push(text);
  }

  #inRun({ text, notes }: Paragraph, name: string, attributes: XmlAttributes): void {
    if (name === 'w:tab' || name === 'w:ptab') text.push(' ');
    else if (name === 'w:br' || name === 'w:cr') text.push('\n');
    else if (name === 'w:noBreakHyphen') text.push('-');
    else if (name === 'w:footnoteReference') notes.push(`footnote ${attributes['w:id']}`);
    else if (name === 'w:endnoteReference') notes.push(`endnote ${attributes['w:id']}`);
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    if (paragraph === undefined) return;
    this.#pendingNotes.push(...paragraph.notes);
    const block = this.#toBlock(paragraph);
    if (block !== null) this.#writer.add(block);
    for (const drawing of paragraph.drawings) this.#writer.add(drawing);
    this.#addNotes();
  }

  #toBlock(paragraph: Paragraph): BlockDraft | null {
    const style = this.#parts.styles.get(paragraph.style ?? '');
    const text = paragraph.text.join('');
    if (style?.isIndex) return null;
    if (style?.isCode) return { kind: 'code', text };
    if (text.trim() === '') return null;
    const outline = paragraph.outlineLevel === null ? null : paragraph.outlineLevel + 1;
    const headingLevel = outline ?? style?.headingLevel ?? null;
    const numId = paragraph.numId ?? style?.numId ?? null;
    const listLevel = paragraph.listLevel ?? style?.listLevel ?? 0;
    const label = numId === null ? null : (this.#parts.numbering?.labelOf(numId, listLevel) ?? null);
    if (style?.isTitle && headingLevel === null) {
      this.#hasTitle = true;
      return { kind: 'heading', level: 1, text: oneLine(text) };
    }
    if (headingLevel !== null && text.length <= HEADING_CHARS_MAX) {
      const prefix = label === null || label === '- ' ? '' : label;
      return { kind: 'heading', level: headingLevel + (this.#hasTitle ? 1 : 0), text: oneLine(prefix + text) };
    }
    if (label !== null) {
      return { kind: 'list_item', level: Math.min(Math.max(listLevel, 0), 98) + 1, text: label + text.trimStart() };
    }
    return { kind: 'paragraph', text };
  }

  /** Add pending notes, but not between the cells of a table. */
  #addNotes(): void {
    if (this.#pendingNotes.length === 0 || this.#writer.isInTable || this.#paragraphs.length > 0) return;
    const ids = this.#pendingNotes;
    this.#pendingNotes = [];
    for (const id of ids) {
      for (const text of this.#parts.notes.get(id) ?? []) this.#writer.add({ kind: 'paragraph', text });
    }
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
