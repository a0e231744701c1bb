import type { BlockDraft } from './blocks.ts';
import type { DocumentFormat } from './detect-format.ts';
import type { PartCategory } from './errors.ts';

/** Sink of a document's blocks, in reading order. */
export interface BlockSink {
  /** Add a block. @throws ExtractError `too_large` beyond the text limit */
  add(block: BlockDraft): void;
  /** Wait until more blocks can be added. Called between slices of the input. */
  flush(): Promise<void>;
}

/** Sink of a document's pictures whose text is wanted. It has them recognised. */
export interface ImageSink {
  /** Strategy; `always` includes pictures on pages with text. */
  readonly strategy: OcrStrategy;
  /**
   * Add an image file in reading order among the blocks. Settle when more can be added. Return false if the image is
   * too large or there are too many.
   */
  take(image: PageImage): Promise<boolean>;
}

export type OcrStrategy = 'auto' | 'always';

export interface PageImage {
  readonly file: Uint8Array;
  /** Page from 1; absent in formats without pages. */
  readonly page?: number | undefined;
  readonly slide?: number | undefined;
  readonly sheet?: string | undefined;
  /** Name of the picture in the file, for reports. */
  readonly picture?: string | undefined;
  /** Attachment that is or contains the picture; absent for a page of the document itself. */
  readonly part?: string | undefined;
}

/** Remaining bytes and entries that may be unpacked. A mail and its attachments share a budget. */
export interface UnpackBudget {
  bytesLeft: number;
  entriesLeft: number;
}

/** Sinks and limits of a reader. */
export interface Reading {
  readonly sink: BlockSink;
  readonly budget: UnpackBudget;
  /** Sink of pictures; null if their text isn't wanted. */
  readonly images: ImageSink | null;
  readonly pagesMax: number;
  readonly htmlBytesMax: number;
}

/** Unreadable part of a document, such as an attachment, with the reason. */
export interface SkippedPart {
  readonly name: string;
  readonly category: PartCategory;
}

export interface ReadResult {
  /** Document format; for a container (zip archive, compound file), that of the document within. */
  readonly format: DocumentFormat;
  /** Number of pages, slides or sheets; null in formats without any. */
  readonly pages: number | null;
  /** Pages, from 1, without text (scans, pictures). */
  readonly emptyPages: number[];
  /** Pages, from 1, that couldn't be read. */
  readonly failedPages: number[];
  /** Pages of a PDF, from 1, with text whose fonts don't tell which characters their glyphs represent. */
  readonly unmappedPages?: number[] | undefined;
  readonly skipped: SkippedPart[];
}

export function resultOf(format: DocumentFormat, found: Partial<Omit<ReadResult, 'format'>> = {}): ReadResult {
  return { format, pages: null, emptyPages: [], failedPages: [], skipped: [], ...found };
}
