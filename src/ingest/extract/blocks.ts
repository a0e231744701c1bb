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

// NUL is refused by PostgreSQL; the others carry no meaning in text. Tab and newline stay.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/**
 * Builds the one text that character ranges refer to: the blocks in order, a blank line between them, a newline
 * between the items of a list. Texts are brought to NFC, lone surrogates and control characters are removed.
 */
export class TextAssembler {
  readonly #parts: string[] = [];
  readonly #blocks: Block[] = [];
  readonly #blocksMax: number;
  readonly #charsMax: number;
  #length = 0;

  constructor(bounds: { blocksMax: number; textCharsMax: number }) {
    this.#blocksMax = bounds.blocksMax;
    this.#charsMax = bounds.textCharsMax;
  }

  /** Blocks without any text are left out. @throws ExtractError `too_large` past a bound */
  add(draft: BlockDraft): void {
    const text = tidy(draft.text, draft.kind === 'code');
    if (text === '') return;
    if (this.#blocks.length >= this.#blocksMax) {
      throw new ExtractError('too_large', `the document has more than ${this.#blocksMax} paragraphs`);
    }
    const previous = this.#blocks.at(-1);
    if (previous !== undefined) {
      const separator = previous.kind === 'list_item' && draft.kind === 'list_item' ? '\n' : '\n\n';
      this.#parts.push(separator);
      this.#length += separator.length;
    }
    const end = this.#length + text.length;
    if (end > this.#charsMax) {
      throw new ExtractError('too_large', `the document holds more than ${this.#charsMax} characters of text`);
    }
    this.#parts.push(text);
    this.#blocks.push({ ...draft, text, start: this.#length, end });
    this.#length = end;
  }

  finish(): AssembledText {
    return { text: this.#parts.join(''), blocks: this.#blocks };
  }
}

function tidy(raw: string, keepIndent: boolean): string {
  const text = raw.replace(CONTROL, '').toWellFormed().normalize('NFC').trimEnd();
  if (!keepIndent) return text.trimStart();
  let from = 0;
  while (text[from] === '\n') from++;
  return text.slice(from);
}
