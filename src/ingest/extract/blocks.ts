import { z } from 'zod';
import { ExtractError } from './errors.ts';

/** One piece of a document, in reading order, before its place in the text is known. */
export const BlockDraft = z.object({
  kind: z.enum(['heading', 'paragraph', 'list_item', 'table', 'code']),
  text: z.string(),
  /** Headings: 1..6. List items: depth from 1. */
  level: z.int().min(1).max(100).optional(),
  /** From 1, in formats that have pages. */
  page: z.int().min(1).optional(),
});
export type BlockDraft = z.output<typeof BlockDraft>;

/** A block and its place: `text.slice(start, end)` of the extracted text is `block.text`. */
export interface Block extends BlockDraft {
  readonly start: number;
  readonly end: number;
}

export interface AssembledText {
  readonly text: string;
  readonly blocks: Block[];
}

/** A run of blocks that follow each other in a document; their ranges are of `text`. */
export interface TextWindow extends AssembledText {
  /** Where `text` begins in the text of the document. */
  readonly start: number;
}

// NUL is refused by PostgreSQL; the others carry no meaning in text. Tab and newline stay.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/**
 * Builds the one text that character ranges refer to: the blocks in order, a blank line between them, a newline
 * between the items of a list. Texts are brought to NFC, lone surrogates and control characters are removed. What was
 * built so far can be taken away as a window, so that a long document is never held as a whole.
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

  /** Blocks without any text are left out. @throws ExtractError `too_large` past a bound */
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
    this.#blocks.push({ ...draft, text, start: this.#length - this.#start, end: end - this.#start });
    this.#length = end;
  }

  /** Whether nothing was added since the last window. */
  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** Whether there are so many characters that a window may end here: not between a heading and its text. */
  mayEndWindow(chars: number): boolean {
    return this.#length - this.#start >= chars && this.#last !== 'heading';
  }

  /** What was added since the last window. */
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
