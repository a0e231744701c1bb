import type { BlockDraft } from './blocks.ts';
import { ExtractError, isPartCategory, type PartCategory } from './errors.ts';
import type { OcrStrategy, PageImage, ReadResult } from './reader.ts';

/** Picture of a document as an image file. */
export interface DocumentImage extends PageImage {
  readonly file: Uint8Array<ArrayBuffer>;
}

export interface PictureText {
  /** Text with line breaks; '' if there is none. */
  readonly text: string;
  /** Mean confidence of the letters in percent; null if unknown. */
  readonly confidence: number | null;
  /** Processor time used; absent if the text was recognised elsewhere. */
  readonly workMs?: number | undefined;
}

/** Page, picture or attachment whose text was recognised with low confidence. */
export interface UnsurePicture {
  /** Page number; null for a picture in a format without pages. */
  readonly page: number | null;
  /** Name of the attachment, or of a picture without a page. */
  readonly part: string | null;
  /** Confidence in percent. */
  readonly confidence: number;
}

/** Recognition of text in pictures. */
export interface ImageReading {
  /** Strategy; `always` includes pictures on pages with text. */
  readonly strategy: OcrStrategy;
  /**
   * Recognise the text of one picture.
   * @param file an image file
   * @throws ExtractError for an unreadable picture; another error if no picture can be read; the signal's reason once
   *   it is aborted
   */
  read(file: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<PictureText>;
}

type Drafts = BlockDraft[];

/** Maximum number of pictures being recognised, and of groups of blocks waiting for them. */
const PENDING_MAX = 4;
/** Confidence in percent below which a page is reported. A clean scan reaches more than 90. */
const CONFIDENCE_MIN = 75;

/**
 * Inserter of picture texts at their positions among a document's blocks. It reads several pictures concurrently, and
 * passes blocks on in order.
 */
export class ImageTexts {
  readonly #reading: ImageReading;
  readonly #abandonment = new AbortController();
  readonly #signal: AbortSignal;
  readonly #put: (blocks: Drafts) => Promise<void>;
  /** Remaining time for pictures. */
  #leftMs: number;
  #pending: Promise<Drafts>[] = [];
  readonly #textPages = new Set<number>();
  readonly #failedPages = new Set<number>();
  /** Attachments with an unreadable picture, and pictures without a page, with the category of their first error. */
  readonly #failedParts = new Map<string, PartCategory>();
  readonly #unsure: UnsurePicture[] = [];
  #fault: ExtractError | null = null;

  /** @param options.ms processing time for all pictures; the rest then count as unreadable */
  constructor(
    reading: ImageReading,
    options: { readonly ms: number; readonly signal: AbortSignal | undefined; put(blocks: Drafts): Promise<void> },
  ) {
    this.#reading = reading;
    this.#put = options.put;
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([signal, this.#abandonment.signal]) : this.#abandonment.signal;
    this.#leftMs = options.ms;
  }

  /** Add blocks after all earlier ones. Settle when more can be added. */
  async addBlocks(blocks: Drafts): Promise<void> {
    if (this.#pending.length === 0) await this.#put(blocks);
    else await this.#add(Promise.resolve(blocks));
  }

  async addImage(image: DocumentImage): Promise<void> {
    await this.#add(this.#read(image));
  }

  /** Wait until all pictures are read and all blocks passed on. */
  async finish(): Promise<void> {
    await this.#passOn(0);
  }

  /** Stop any recognition in progress. Must be called in every case. */
  async abandon(): Promise<void> {
    this.#abandonment.abort();
    await Promise.allSettled(this.#pending.splice(0));
  }

  /** Require that at least one of `pages` pages was readable. @throws ExtractError the first error otherwise */
  requireOne(pages: number): void {
    if (this.#failedPages.size < pages) return;
    throw this.#fault ?? imagesTimeout();
  }

  /** Merge the results of the pictures into the document's result. */
  mergeInto<Found extends Pick<ReadResult, 'emptyPages' | 'failedPages' | 'skipped'>>(
    found: Found,
  ): Found & { recognisedPages: number[]; unsurePictures: UnsurePicture[] } {
    const failed = [...new Set([...found.failedPages, ...this.#failedPages])].sort((a, b) => a - b);
    return {
      ...found,
      emptyPages: found.emptyPages.filter((page) => !this.#textPages.has(page) && !this.#failedPages.has(page)),
      failedPages: failed,
      skipped: [...found.skipped, ...Array.from(this.#failedParts, ([name, category]) => ({ name, category }))],
      recognisedPages: [...this.#textPages].sort((a, b) => a - b),
      unsurePictures: this.#unsure.toSorted((a, b) => (a.page ?? 0) - (b.page ?? 0)),
    };
  }

  async #add(blocks: Promise<Drafts>): Promise<void> {
    blocks.catch(() => {}); // The error is handled when these blocks are passed on.
    this.#pending.push(blocks);
    await this.#passOn(PENDING_MAX - 1);
  }

  async #passOn(remainingMax: number): Promise<void> {
    while (this.#pending.length > remainingMax) {
      await this.#put(await (this.#pending[0] as Promise<Drafts>));
      this.#pending.shift();
    }
  }

  async #read({ file, page, slide, sheet, picture, part: attachment }: DocumentImage): Promise<Drafts> {
    const found = await this.#textOf(file);
    const part = attachment ?? (page === undefined ? (picture ?? 'a picture') : undefined);
    if (found instanceof ExtractError) {
      this.#fault ??= found;
      if (page !== undefined && part === undefined) this.#failedPages.add(page);
      else if (part === undefined) return [];
      else if (!this.#failedParts.has(part)) this.#failedParts.set(part, partCategoryOf(found));
      return [];
    }
    const { text, confidence } = found;
    if (text.trim() === '') return [];
    if (confidence !== null && confidence < CONFIDENCE_MIN)
      this.#unsure.push({ page: page ?? null, part: part ?? null, confidence: Math.round(confidence) });
    if (page !== undefined && part === undefined) this.#textPages.add(page);
    const place = { page, slide, sheet, file: attachment };
    return paragraphsOf(text).map((paragraph) => ({ kind: 'paragraph', text: paragraph, ...definedOf(place) }));
  }

  async #textOf(file: DocumentImage['file']): Promise<PictureText | ExtractError> {
    if (this.#leftMs <= 0) return imagesTimeout();
    const beganMs = performance.now();
    let workMs: number | undefined;
    try {
      const found = await this.#reading.read(file, this.#signal);
      workMs = found.workMs;
      return found;
    } catch (error) {
      if (error instanceof ExtractError) return error;
      throw error;
    } finally {
      this.#leftMs -= workMs ?? performance.now() - beganMs;
    }
  }
}

function imagesTimeout(): ExtractError {
  return new ExtractError('timeout', 'reading the pictures of the document takes too long');
}

/** Return the properties that have a value. */
function definedOf(place: Partial<BlockDraft>): Partial<BlockDraft> {
  return Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined));
}

function partCategoryOf({ category }: ExtractError): PartCategory {
  return isPartCategory(category) ? category : 'corrupt';
}

/** Split recognised text into paragraphs at blank lines. */
export function paragraphsOf(text: string): string[] {
  return text
    .split(/\n[^\S\n]*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
}
