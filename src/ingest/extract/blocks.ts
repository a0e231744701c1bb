import { z } from 'zod';
import { ExtractError } from './errors.ts';

/** Block of a document in reading order, before its position in the text is known. */
export const BlockDraft = z.object({
  kind: z.enum(['heading', 'paragraph', 'list_item', 'table', 'code']),
  text: z.string(),
  /** Level of a heading, 1..6; depth of a list item, from 1. */
  level: z.int().min(1).max(100).optional(),
  /** Page number from 1, in paged formats. */
  page: z.int().min(1).optional(),
  /** Name of the file that contains the block, for a mail attachment. */
  file: z.string().optional(),
  /** Sheet name in a spreadsheet; `page` is its number. */
  sheet: z.string().optional(),
  /** Slide number in a presentation. */
  slide: z.int().min(1).optional(),
  /** Row of column names, for a block of a table. */
  header: z.string().optional(),
  /** True for text that refers to other text or repeats: a table of contents, a menu, a running title. */
  boilerplate: z.boolean().optional(),
});
export type BlockDraft = z.output<typeof BlockDraft>;

/** Block with its position: `text.slice(start, end)` of the extracted text is `block.text`. */
export interface Block extends BlockDraft {
  readonly start: number;
  readonly end: number;
}

export interface AssembledText {
  readonly text: string;
  readonly blocks: Block[];
}

/** Consecutive blocks of a document, whose ranges refer to `text`. */
export interface TextWindow extends AssembledText {
  /** Offset of `text` within the document's text. */
  readonly start: number;
}

// PostgreSQL refuses NUL; the other characters have no meaning in text. Tab and newline stay.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/**
 * Builder of the text that character ranges refer to: the blocks in order, separated by a blank line, or by a newline
 * between list items. It normalises texts to NFC, and removes lone surrogates and control characters. The text so far
 * can be taken as a window, so that a long document is never in memory as a whole.
 */
export class TextAssembler {
  readonly #blocksMax: number;
  readonly #charsMax: number;
  #parts: string[] = [];
  #blocks: Block[] = [];
  #start = 0;
  #length = 0;
  #count = 0;
  #last: BlockDraft['kind'] | null = null;

  constructor(bounds: { blocksMax: number; textCharsMax: number }) {
    this.#blocksMax = bounds.blocksMax;
    this.#charsMax = bounds.textCharsMax;
  }

  /** Add a block unless it has no text. @throws ExtractError `too_large` beyond a limit */
  add(draft: BlockDraft): void {
    const text = tidy(draft.text, draft.kind === 'code');
    if (text === '') return;
    if (++this.#count > this.#blocksMax) {
      throw new ExtractError('too_large', `the document has more than ${this.#blocksMax} paragraphs`);
    }
    if (this.#last !== null) {
      const separator = this.#last === 'list_item' && draft.kind === 'list_item' ? '\n' : '\n\n';
      this.#parts.push(separator);
      this.#length += separator.length;
    }
    this.#last = draft.kind;
    const end = this.#length + text.length;
    if (end > this.#charsMax) {
      throw new ExtractError('too_large', `the document holds more than ${this.#charsMax} characters of text`);
    }
    this.#parts.push(text);
    const header = draft.header === undefined ? {} : { header: tidy(draft.header, false) };
    this.#blocks.push({ ...draft, ...header, text, start: this.#length - this.#start, end: end - this.#start });
    this.#length = end;
  }

  /** True if nothing was added since the last window. */
  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** Return true if the window has at least `chars` characters and doesn't end between a heading and its text. */
  mayEndWindow(chars: number): boolean {
    return this.#length - this.#start >= chars && this.#last !== 'heading';
  }

  /** Take the blocks added since the last window. */
  takeWindow(): TextWindow {
    const window = { start: this.#start, text: this.#parts.join(''), blocks: this.#blocks };
    this.#parts = [];
    this.#blocks = [];
    this.#start = this.#length;
    return window;
  }
}

function tidy(raw: string, keepIndent: boolean): string {
  const text = raw.replace(CONTROL, '').toWellFormed().normalize('NFC').trimEnd();
  if (!keepIndent) return text.trimStart();
  let from = 0;
  while (text[from] === '\n') from++;
  return text.slice(from);
}
