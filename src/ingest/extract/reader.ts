import type { BlockDraft } from './blocks.ts';
import type { DocumentFormat } from './detect-format.ts';
import type { PartCategory } from './errors.ts';

/** Where the blocks of a document go, in reading order. */
export interface BlockSink {
  /** @throws ExtractError `too_large` past the bound on text */
  add(block: BlockDraft): void;
  /** Awaited between two pieces of the input: it settles when there is room for more. */
  flush(): Promise<void>;
}

/** Where the pictures of a document go whose text is wanted; they are read elsewhere. */
export interface ImageSink {
  /** `always`: pictures on pages that have text, too. */
  readonly strategy: OcrStrategy;
  /** An image file in reading order among the blocks; settles when there is room for more. False: too large, or too many. */
  take(image: PageImage): Promise<boolean>;
}

export type OcrStrategy = 'auto' | 'always';

export interface PageImage {
  readonly file: Uint8Array;
  /** From 1. */
  readonly page: number;
  /** The attachment that it is, or that the page is of; left out, the page is one of the document itself. */
  readonly part?: string;
}

/** What may still be unpacked; a mail and all that is attached to it share one. */
export interface UnpackBudget {
  bytesLeft: number;
  entriesLeft: number;
}

/** What a reader works with. */
export interface Reading {
  readonly sink: BlockSink;
  readonly budget: UnpackBudget;
  /** Null: the text in pictures is not wanted. */
  readonly images: ImageSink | null;
  readonly pagesMax: number;
  readonly htmlBytesMax: number;
}

/** A part of a document, such as an attachment, that gave no text, and why. */
export interface SkippedPart {
  readonly name: string;
  readonly category: PartCategory;
}

/** What is known of a document once it was read. */
export interface ReadResult {
  /** The kind of document that was found inside a container (a zip archive, a compound file). */
  readonly format: DocumentFormat;
  /** Pages, slides or sheets; null in formats without. */
  readonly pages: number | null;
  /** Pages, from 1, that hold no text (scans, pictures). */
  readonly emptyPages: number[];
  /** Pages, from 1, that could not be read. */
  readonly failedPages: number[];
  readonly skipped: SkippedPart[];
}

export function resultOf(format: DocumentFormat, found: Partial<Omit<ReadResult, 'format'>> = {}): ReadResult {
  return { format, pages: null, emptyPages: [], failedPages: [], skipped: [], ...found };
}
