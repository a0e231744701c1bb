import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import type { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import type { HancomNumbering, ParagraphRole } from './hancom-numbering.ts';
import { paragraphBlock } from './paragraph-block.ts';

interface Paragraph {
  text: string[];
  readonly role: ParagraphRole | null;
  /** Paragraph number; undefined until counted. */
  label: string | null | undefined;
}

/** Headers and footers, comments, picture descriptions, field values. */
const SKIPPED: ReadonlySet<string> = new Set(
  'hp:header hp:footer hp:hiddenComment hp:shapeComment hp:parameters hp:secPr hp:memo'.split(' '),
);

/** Return true for the start of a field that contains a memo, which is a comment. */
function isMemo(name: string, attributes: XmlAttributes): boolean {
  return name === 'hp:fieldBegin' && /^memo$/i.test(attributes['type'] ?? '');
}

/** Converter of the elements of an OWPML section to blocks. */
export class HwpxBody implements XmlHandler {
  readonly #writer: BlockWriter;
  readonly #roles: ReadonlyMap<string, ParagraphRole>;
  /** Open paragraphs: tables, text boxes and notes contain paragraphs within a run of another paragraph. */
  readonly #paragraphs: Paragraph[] = [];
  #skipDepth = 0;
  #textDepth = 0;
  #isDeleted = false;
  #noteDepth = 0;
  #notes: string[] = [];

  readonly #numbering: HancomNumbering;
  readonly #charts: ReadonlyMap<string, readonly BlockDraft[]>;

  constructor(
    writer: BlockWriter,
    head: { roles: ReadonlyMap<string, ParagraphRole>; numbering: HancomNumbering },
    charts: ReadonlyMap<string, readonly BlockDraft[]> = new Map(),
  ) {
    this.#numbering = head.numbering;
    this.#charts = charts;
    this.#writer = writer;
    this.#roles = head.roles;
  }

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'hp:secPr') this.#numbering.outline = attributes['outlineShapeIDRef'] ?? this.#numbering.outline;
    if (this.#skipDepth > 0 || SKIPPED.has(name) || isMemo(name, attributes)) {
      this.#skipDepth++;
      return;
    }
    switch (name) {
      case 'hp:p':
        this.#paragraphs.push({
          text: [],
          role: this.#roles.get(attributes['paraPrIDRef'] ?? '') ?? null,
          label: undefined,
        });
        break;
      case 'hp:t':
      case 'hp:script':
      case 'hp:mainText':
        this.#textDepth++;
        break;
      case 'hp:chart':
        this.#endText();
        for (const block of this.#charts.get(attributes['chartIDRef'] ?? '') ?? []) this.#writer.add(block);
        break;
      case 'hp:tbl':
        this.#endText();
        this.#writer.openTable();
        break;
      case 'hp:footNote':
      case 'hp:endNote':
        this.#noteDepth++;
        break;
      case 'hp:deleteBegin':
        this.#isDeleted = true;
        break;
      case 'hp:deleteEnd':
        this.#isDeleted = false;
        break;
      case 'hp:autoNum':
        // Keep the number of a caption; that of a note or page isn't text.
        if (/^(?:TABLE|PICTURE|FIGURE|EQUATION)$/i.test(attributes['numType'] ?? ''))
          this.#paragraphs.at(-1)?.text.push(attributes['num'] ?? '');
        break;
      case 'hp:btn':
      case 'hp:checkBtn':
      case 'hp:radioBtn':
        this.#paragraphs.at(-1)?.text.push(attributes['caption'] ?? '');
        break;
      case 'hp:lineBreak':
        this.#put('\n');
        break;
      case 'hp:tab':
      case 'hp:nbSpace':
      case 'hp:fwSpace':
        this.#put(' ');
        break;
      case 'hp:hyphen':
        this.#put('-');
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
      case 'hp:p':
        this.#endText();
        this.#paragraphs.pop();
        this.#addNotes();
        break;
      case 'hp:t':
      case 'hp:script':
      case 'hp:mainText':
        this.#textDepth--;
        break;
      case 'hp:tc':
        this.#writer.closeCell();
        break;
      case 'hp:tr':
        this.#writer.closeRow();
        break;
      case 'hp:tbl':
        this.#writer.closeTable();
        break;
      case 'hp:footNote':
      case 'hp:endNote':
        this.#noteDepth--;
        break;
      default:
    }
  }

  text(text: string): void {
    if (this.#textDepth > 0 && this.#skipDepth === 0) this.#put(text);
  }

  #put(text: string): void {
    if (!this.#isDeleted && this.#textDepth > 0) this.#paragraphs.at(-1)?.text.push(text);
  }

  /** Add a paragraph's text so far as a block, before a table within it and at its end. */
  #endText(): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph === undefined) return;
    const text = paragraph.text.join('');
    paragraph.text = [];
    // Even a paragraph without text has a number.
    paragraph.label ??= paragraph.role === null ? null : this.#numbering.labelOf(paragraph.role);
    if (text.trim() === '') return;
    if (this.#noteDepth > 0) this.#notes.push(text);
    else this.#writer.add(paragraphBlock(text, paragraph.role, paragraph.label));
  }

  /** Add notes after the paragraph that refers to them, but not between the cells of a table. */
  #addNotes(): void {
    if (this.#noteDepth > 0 || this.#paragraphs.length > 0 || this.#writer.isInTable) return;
    for (const text of this.#notes.splice(0)) this.#writer.add({ kind: 'paragraph', text });
  }
}
