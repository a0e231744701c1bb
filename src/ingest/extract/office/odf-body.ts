import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import type { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import { formatNumber } from './list-numbers.ts';
import type { OdfCharts } from './odf-charts.ts';
import type { NumberedLevel, OdfStyles } from './odf-styles.ts';

interface Paragraph {
  readonly text: string[];
  readonly headingLevel: number | null;
  readonly style: string;
}

interface List {
  readonly style: string;
  readonly numbered: NumberedLevel | null;
  next: number;
}

/** Listener for the slides of a presentation, which separate its blocks. */
export interface SlideListener {
  openSlide(): void;
  openNotes(): void;
  closeSlide(): void;
}

/** Former states, comments, generated text (indexes), and variable declarations. */
const SKIPPED: ReadonlySet<string> = new Set(
  (
    'office:binary-data text:tracked-changes office:annotation text:table-of-content text:illustration-index text:table-index ' +
    'text:object-index text:user-index text:alphabetical-index text:bibliography text:note-citation text:ruby-text ' +
    'office:forms text:variable-decls text:sequence-decls text:user-field-decls presentation:date-time-decl ' +
    'presentation:footer-decl presentation:header-decl draw:page-thumbnail'
  ).split(' '),
);
/** Frames that repeat on every slide. */
const REPEATED_FRAMES: ReadonlySet<string> = new Set(['page-number', 'date-time', 'header', 'footer']);
const SPACES_MAX = 100;

/** Converter of the body of an OpenDocument text or presentation to blocks. */
export class OdfBody implements XmlHandler {
  readonly #writer: BlockWriter;
  readonly #styles: OdfStyles;
  readonly #slides: SlideListener | null;
  readonly #paragraphs: Paragraph[] = [];
  readonly #lists: List[] = [];
  /** Number of the next list item, by level and style. */
  readonly #lastNumbers = new Map<string, number>();
  #bullet: string | null = null;
  #skipDepth = 0;
  #isBody = false;
  #noteDepth = 0;
  #notes: string[] = [];
  /** True once a title has been read; later headings are one level below it. */
  #hasTitle = false;
  /** Lines of a slide's title while its frame is open; otherwise null. */
  #slideTitle: string[] | null = null;

  readonly #charts: OdfCharts;
  readonly #onPicture: (name: string) => void;
  /** Blocks of charts to add after the open paragraph. */
  #pendingCharts: BlockDraft[] = [];

  /** @param slides null in a text document @param onPicture called with each picture's entry */
  constructor(
    writer: BlockWriter,
    parts: { styles: OdfStyles; charts: OdfCharts },
    slides: SlideListener | null,
    onPicture: (name: string) => void,
  ) {
    this.#charts = parts.charts;
    this.#onPicture = onPicture;
    this.#writer = writer;
    this.#styles = parts.styles;
    this.#slides = slides;
  }

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'office:body') this.#isBody = true;
    if (!this.#isBody) return;
    if (this.#skipDepth > 0 || SKIPPED.has(name) || REPEATED_FRAMES.has(attributes['presentation:class'] ?? '')) {
      this.#skipDepth++;
      return;
    }
    switch (name) {
      case 'text:h':
      case 'text:p':
        this.#paragraphs.push({
          text: [],
          headingLevel: name === 'text:h' ? Math.max(1, Number(attributes['text:outline-level']) || 1) : null,
          style: attributes['text:style-name'] ?? '',
        });
        break;
      case 'text:list':
        this.#openList(attributes);
        break;
      case 'text:list-item':
        this.#openItem(attributes['text:start-value']);
        break;
      case 'text:note':
        this.#noteDepth++;
        break;
      case 'text:s':
        this.#put(' '.repeat(Math.min(Math.max(Number(attributes['text:c'] ?? 1) || 1, 1), SPACES_MAX)));
        break;
      case 'text:tab':
        this.#put(' ');
        break;
      case 'text:line-break':
        this.#put('\n');
        break;
      case 'table:table':
        this.#writer.openTable();
        break;
      case 'draw:object':
        this.#pendingCharts.push(...(this.#charts.get(attributes['xlink:href'] ?? '') ?? []));
        break;
      case 'draw:image':
        this.#onPicture((attributes['xlink:href'] ?? '').replace(/^\.\//, ''));
        break;
      case 'draw:page':
        this.#slides?.openSlide();
        break;
      case 'presentation:notes':
        this.#slides?.openNotes();
        break;
      case 'draw:frame':
      case 'draw:custom-shape':
        if (attributes['presentation:class'] === 'title') this.#slideTitle = [];
        break;
      default:
    }
  }

  close(name: string): void {
    if (!this.#isBody) return;
    if (this.#skipDepth > 0) {
      this.#skipDepth--;
      return;
    }
    switch (name) {
      case 'text:h':
      case 'text:p':
        this.#endParagraph();
        break;
      case 'text:list':
        this.#lists.pop();
        break;
      case 'text:list-item':
        this.#bullet = null;
        break;
      case 'text:note':
        this.#noteDepth--;
        break;
      case 'table:table-cell':
      case 'table:covered-table-cell':
        this.#writer.closeCell();
        break;
      case 'table:table-row':
        this.#writer.closeRow();
        break;
      case 'table:table':
        this.#writer.closeTable();
        break;
      case 'draw:frame':
      case 'draw:custom-shape':
        this.#endFrame();
        break;
      case 'draw:page':
        this.#slides?.closeSlide();
        break;
      default:
    }
  }

  text(text: string): void {
    // Consecutive blanks count as one (part 3 of the standard, 6.1.2).
    if (this.#skipDepth === 0) this.#put(text.replace(/\s+/g, ' '));
  }

  #put(text: string): void {
    this.#paragraphs.at(-1)?.text.push(text);
  }

  /**
   * Open a list. It has its own style or that of the enclosing list, and may continue the numbering of an earlier list.
   */
  #openList(attributes: XmlAttributes): void {
    const style = attributes['text:style-name'] ?? this.#lists.at(-1)?.style ?? '';
    const level = this.#lists.length + 1;
    const numbered = this.#styles.numberedLevel(style, level);
    const continues =
      attributes['text:continue-numbering'] === 'true' || attributes['text:continue-list'] !== undefined;
    const next = (continues ? this.#lastNumbers.get(`${level} ${style}`) : undefined) ?? numbered?.start ?? 1;
    this.#lists.push({ style, numbered, next });
  }

  #openItem(startValue: string | undefined): void {
    const list = this.#lists.at(-1);
    if (list === undefined) return;
    if (list.numbered === null) {
      this.#bullet = '- ';
      return;
    }
    const { format, prefix, suffix } = list.numbered;
    const start = Number(startValue);
    if (Number.isInteger(start)) list.next = start;
    this.#bullet = `${prefix}${formatNumber(list.next++, format)}${suffix} `;
    this.#lastNumbers.set(`${this.#lists.length} ${list.style}`, list.next);
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    if (paragraph === undefined) return;
    const text = paragraph.text.join('');
    if (this.#noteDepth > 0) this.#notes.push(text);
    else if (this.#slideTitle !== null) this.#slideTitle.push(text);
    else this.#writer.add(this.#toBlock(paragraph, text));
    this.#addCharts();
    if (this.#noteDepth > 0 || this.#paragraphs.length > 0 || this.#writer.isInTable) return;
    for (const note of this.#notes.splice(0)) this.#writer.add({ kind: 'paragraph', text: note });
  }

  #toBlock({ headingLevel, style }: Paragraph, text: string): BlockDraft {
    if (this.#styles.isCode(style)) return { kind: 'code', text };
    if (headingLevel !== null) return heading(headingLevel + (this.#hasTitle ? 1 : 0), text);
    if (this.#lists.length > 0) {
      const bullet = this.#bullet ?? '';
      if (text.trim() !== '') this.#bullet = null;
      return { kind: 'list_item', level: Math.min(this.#lists.length, 100), text: bullet + text.trimStart() };
    }
    if (this.#slides === null && this.#styles.isTitle(style) && text.trim() !== '') {
      this.#hasTitle = true;
      return heading(1, text);
    }
    return { kind: 'paragraph', text };
  }

  #addCharts(): void {
    if (this.#paragraphs.length > 0) return;
    for (const block of this.#pendingCharts.splice(0)) this.#writer.add(block);
  }

  #endFrame(): void {
    const text = this.#slideTitle?.join(' ') ?? '';
    if (text.trim() !== '') this.#writer.add(heading(1, text));
    this.#slideTitle = null;
    this.#addCharts();
  }
}

function heading(level: number, text: string): BlockDraft {
  return { kind: 'heading', level, text: text.replace(/\s+/g, ' ').trim() };
}
