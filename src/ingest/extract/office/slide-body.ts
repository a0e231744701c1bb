import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import type { BlockWriter } from '../block-writer.ts';

/** Placeholders that repeat on every slide or that the program fills. */
const REPEATED_PLACEHOLDERS: ReadonlySet<string> = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']);
const LIST_LEVELS_MAX = 9;

interface Paragraph {
  readonly text: string[];
  /** Level from 0. */
  level: number;
  /** True for a bullet; null if the placeholder decides. */
  bullet: boolean | null;
}

/** Converter of the shapes of a slide, or of its notes, to blocks (ISO/IEC 29500-1, 19.3 and 21.1.2). */
export class SlideBody implements XmlHandler {
  readonly #writer: BlockWriter;
  readonly #kind: 'slide' | 'notes';
  #skipDepth = 0;
  /** Type of the placeholder filled by the shape; null if none. */
  #placeholder: string | null = null;
  #paragraph: Paragraph | null = null;
  #title: string[] = [];
  #isText = false;
  #tableDepth = 0;

  constructor(writer: BlockWriter, kind: 'slide' | 'notes') {
    this.#writer = writer;
    this.#kind = kind;
  }

  open(name: string, attributes: XmlAttributes): void {
    if (this.#skipDepth > 0 || name === 'mc:Fallback') {
      this.#skipDepth++;
      return;
    }
    switch (name) {
      case 'p:sp':
        this.#placeholder = null;
        break;
      case 'p:ph':
        this.#placeholder = attributes['type'] ?? 'obj';
        break;
      case 'a:tbl':
        this.#tableDepth++;
        this.#writer.openTable();
        break;
      case 'a:p':
        this.#paragraph = { text: [], level: 0, bullet: null };
        break;
      case 'a:t':
        this.#isText = true;
        break;
      case 'a:br':
        this.#paragraph?.text.push('\n');
        break;
      case 'a:tab':
        this.#paragraph?.text.push(' ');
        break;
      default:
        if (this.#paragraph !== null) takeProperty(this.#paragraph, name, attributes);
    }
  }

  close(name: string): void {
    if (this.#skipDepth > 0) {
      this.#skipDepth--;
      return;
    }
    switch (name) {
      case 'a:t':
        this.#isText = false;
        break;
      case 'a:p':
        this.#endParagraph();
        break;
      case 'a:tc':
        this.#writer.closeCell();
        break;
      case 'a:tr':
        this.#writer.closeRow();
        break;
      case 'a:tbl':
        this.#tableDepth--;
        this.#writer.closeTable();
        break;
      case 'p:sp':
        this.#endShape();
        break;
      default:
    }
  }

  text(text: string): void {
    if (this.#isText && this.#skipDepth === 0) this.#paragraph?.text.push(text);
  }

  #endParagraph(): void {
    const paragraph = this.#paragraph;
    this.#paragraph = null;
    const text = paragraph?.text.join('').trim() ?? '';
    if (paragraph === null || text === '') return;
    const placeholder = this.#placeholder;
    if (placeholder !== null && REPEATED_PLACEHOLDERS.has(placeholder)) return;
    if (this.#tableDepth > 0) this.#writer.add({ kind: 'paragraph', text });
    else if (this.#kind === 'notes') this.#addNote(placeholder, text);
    else if (placeholder === 'title' || placeholder === 'ctrTitle') this.#title.push(text);
    else this.#writer.add(asBlock(paragraph, text, placeholder === 'body' || placeholder === 'obj'));
  }

  /** Add a note. The notes page also repeats the slide, which is skipped. */
  #addNote(placeholder: string | null, text: string): void {
    if (placeholder === 'body') this.#writer.add({ kind: 'paragraph', text });
  }

  /** End a shape. A title may have several lines. */
  #endShape(): void {
    if (this.#title.length > 0) {
      this.#writer.add({ kind: 'heading', level: 1, text: this.#title.join(' ').replace(/\s+/g, ' ') });
    }
    this.#title = [];
    this.#placeholder = null;
  }
}

function takeProperty(paragraph: Paragraph, name: string, attributes: XmlAttributes): void {
  if (name === 'a:pPr') paragraph.level = Math.min(Math.max(Number(attributes['lvl']) || 0, 0), LIST_LEVELS_MAX);
  else if (name === 'a:buNone') paragraph.bullet = false;
  else if (name === 'a:buChar' || name === 'a:buAutoNum' || name === 'a:buBlip') paragraph.bullet = true;
}

function asBlock({ level, bullet }: Paragraph, text: string, isBulleted: boolean) {
  if (!(bullet ?? isBulleted)) return { kind: 'paragraph' as const, text };
  return { kind: 'list_item' as const, level: level + 1, text: `- ${text}` };
}
