import type { BlockDraft } from './blocks.ts';
import { Deadline } from './deadline.ts';
import { ExtractError, isPartCategory, type PartCategory } from './errors.ts';
import type { OcrStrategy, ReadResult } from './reader.ts';

/** A picture of a document, as the file that it is. */
export interface DocumentImage {
  readonly file: Uint8Array<ArrayBuffer>;
  /** From 1. */
  readonly page: number;
  /** The attachment that it is, or that the page is of; left out, the page is one of the document itself. */
  readonly part?: string | undefined;
}

/** Reads the text in pictures. */
export interface ImageReading {
  /** `always`: pictures on pages that have text, too. */
  readonly strategy: OcrStrategy;
  /**
   * @param file an image file
   * @returns text, lines apart; empty where there is none
   * @throws ExtractError for a picture that cannot be read; what keeps every picture from being read; the signal's
   *   reason once it is aborted
   */
  read(file: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<string>;
}

type Drafts = BlockDraft[];

/** Pictures that are read at a time, and blocks that wait for them. */
const AHEAD_MAX = 4;

/**
 * Puts the text of pictures where they stood among the blocks of a document. Several are read at a time; blocks are
 * handed on in order.
 */
export class ImageTexts {
  readonly #reading: ImageReading;
  readonly #giveUp = new AbortController();
  readonly #signal: AbortSignal;
  readonly #put: (blocks: Drafts) => Promise<void>;
  readonly #clock: Deadline;
  #isLate = false;
  #waiting: Promise<Drafts>[] = [];
  readonly #textPages = new Set<number>();
  readonly #failedPages = new Set<number>();
  /** Attachments with a picture that could not be read, and what was wrong with the first. */
  readonly #failedParts = new Map<string, PartCategory>();
  #fault: ExtractError | null = null;

  /** @param options.ms wall clock of all pictures; those that are left then count as not readable */
  constructor(
    reading: ImageReading,
    options: { readonly ms: number; readonly signal: AbortSignal | undefined; put(blocks: Drafts): Promise<void> },
  ) {
    this.#reading = reading;
    this.#put = options.put;
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([signal, this.#giveUp.signal]) : this.#giveUp.signal;
    this.#clock = new Deadline(options.ms, () => {
      this.#isLate = true;
    });
  }

  /** Blocks that were extracted behind all that was added so far; settles when there is room for more. */
  async addBlocks(blocks: Drafts): Promise<void> {
    if (this.#waiting.length === 0) await this.#put(blocks);
    else await this.#add(Promise.resolve(blocks));
  }

  async addImage(image: DocumentImage): Promise<void> {
    await this.#add(this.#read(image));
  }

  /** Waits for all pictures. */
  async finish(): Promise<void> {
    await this.#handOn(0);
    this.#clock.stop();
  }

  /** Ends what is under way; to be called whatever happened. */
  async abandon(): Promise<void> {
    this.#clock.stop();
    this.#giveUp.abort();
    await Promise.allSettled(this.#waiting.splice(0));
  }

  /** @throws ExtractError the first fault, where none of `pages` pages could be read */
  requireOne(pages: number): void {
    if (this.#failedPages.size < pages) return;
    throw this.#fault ?? tooLate();
  }

  /** What is known of a document's pages once its pictures were read. */
  settle<Found extends Pick<ReadResult, 'emptyPages' | 'failedPages' | 'skipped'>>(
    found: Found,
  ): Found & { recognisedPages: number[] } {
    const failed = [...new Set([...found.failedPages, ...this.#failedPages])].sort((a, b) => a - b);
    return {
      ...found,
      emptyPages: found.emptyPages.filter((page) => !this.#textPages.has(page) && !this.#failedPages.has(page)),
      failedPages: failed,
      skipped: [...found.skipped, ...Array.from(this.#failedParts, ([name, category]) => ({ name, category }))],
      recognisedPages: [...this.#textPages].sort((a, b) => a - b),
    };
  }

  async #add(blocks: Promise<Drafts>): Promise<void> {
    blocks.catch(() => {}); // Seen when its turn comes.
    this.#waiting.push(blocks);
    await this.#handOn(AHEAD_MAX - 1);
  }

  async #handOn(leave: number): Promise<void> {
    while (this.#waiting.length > leave) {
      await this.#put(await (this.#waiting[0] as Promise<Drafts>));
      this.#waiting.shift();
    }
  }

  async #read({ file, page, part }: DocumentImage): Promise<Drafts> {
    const text = await this.#textOf(file);
    if (text instanceof ExtractError) {
      this.#fault ??= text;
      if (part === undefined) this.#failedPages.add(page);
      else if (!this.#failedParts.has(part)) this.#failedParts.set(part, partCategoryOf(text));
      return [];
    }
    if (text.trim() === '') return [];
    if (part === undefined) this.#textPages.add(page);
    return paragraphsOf(text).map((paragraph) => ({ kind: 'paragraph', text: paragraph, page }));
  }

  async #textOf(file: DocumentImage['file']): Promise<string | ExtractError> {
    if (this.#isLate) return tooLate();
    try {
      return await this.#reading.read(file, this.#signal);
    } catch (error) {
      if (error instanceof ExtractError) return error;
      throw error;
    }
  }
}

function tooLate(): ExtractError {
  return new ExtractError('timeout', 'reading the pictures took longer than is allowed');
}

function partCategoryOf({ category }: ExtractError): PartCategory {
  return isPartCategory(category) ? category : 'corrupt';
}

/** Recognised lines between empty ones are a paragraph. */
export function paragraphsOf(text: string): string[] {
  return text
    .split(/\n[^\S\n]*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
}
