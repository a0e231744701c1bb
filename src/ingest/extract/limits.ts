/** Limits for extracting one document. */
export interface ExtractLimits {
  /** Maximum bytes of txt and md files, which are held in memory twice: as bytes and as text. */
  readonly textBytesMax: number;
  /**
   * Maximum bytes of HTML files. The tree of a page with many tags takes about thirty times its bytes, so the memory
   * limit may be reached first.
   */
  readonly htmlBytesMax: number;
  /** Maximum bytes of PDF files, which the child holds in memory as a whole. */
  readonly pdfBytesMax: number;
  /**
   * Maximum bytes of office documents, books and Hancom documents, which the child holds in memory with their unpacked
   * parts.
   */
  readonly officeBytesMax: number;
  /** Maximum bytes of mail and rich text, which the child holds in memory several times, as bytes and as text. */
  readonly mailBytesMax: number;
  readonly rtfBytesMax: number;
  /** Maximum bytes of csv and json files, of which one window is held at a time. */
  readonly dataBytesMax: number;
  /** Maximum characters of text extracted from csv and json files. */
  readonly dataCharsMax: number;
  /** Maximum bytes unpacked from a document and its attachments. */
  readonly unpackedBytesMax: number;
  /** Maximum entries in the archives of a document. */
  readonly entriesMax: number;
  readonly pagesMax: number;
  readonly blocksMax: number;
  /** Maximum pictures per document to recognise text in. */
  readonly imagesMax: number;
  /** Processor time for recognising them, in addition to the document's; wall-clock time for a vision model. */
  readonly imagesMs: number;
  /** Maximum bytes of a picture uploaded as a document. */
  readonly imageBytesMax: number;
  /** Maximum characters (UTF-16 units) of extracted text. */
  readonly textCharsMax: number;
  /** Maximum bytes that a child may print before it is killed. */
  readonly outputBytesMax: number;
  /**
   * Processor time per document. Wall-clock time only bounds a hang: `HANG_FACTOR` times as much without any progress.
   */
  readonly deadlineMs: number;
  /** Maximum resident memory of a child. */
  readonly memoryBytesMax: number;
}

/** Time without progress that counts as a hang, in multiples of the document's processor time. */
export const HANG_FACTOR = 5;

const MIB = 1024 * 1024;

/**
 * Maximum amplification of a document: unpacked bytes, and characters of text, per byte of the file. XML packs to a
 * tenth, repeated cells of a sheet to a hundredth. A ratio far beyond that indicates a maliciously expensive file.
 */
const UNPACKED_BYTES_PER_BYTE = 200;
const TEXT_CHARS_PER_BYTE = 100;
/** Amounts allowed for every file, however small. */
const UNPACKED_BYTES_FREE = 16 * MIB;
const TEXT_CHARS_FREE = MIB;

/** Lower the limits for a small file in proportion to its size. */
export function limitsFor(sizeBytes: number, limits: ExtractLimits): ExtractLimits {
  const textCharsMax = TEXT_CHARS_FREE + sizeBytes * TEXT_CHARS_PER_BYTE;
  return {
    ...limits,
    unpackedBytesMax: Math.min(limits.unpackedBytesMax, UNPACKED_BYTES_FREE + sizeBytes * UNPACKED_BYTES_PER_BYTE),
    textCharsMax: Math.min(limits.textCharsMax, textCharsMax),
    dataCharsMax: Math.min(limits.dataCharsMax, textCharsMax),
  };
}

export const DEFAULT_EXTRACT_LIMITS: ExtractLimits = {
  textBytesMax: 64 * MIB,
  htmlBytesMax: 32 * MIB,
  pdfBytesMax: 192 * MIB,
  officeBytesMax: 128 * MIB,
  mailBytesMax: 64 * MIB,
  rtfBytesMax: 64 * MIB,
  dataBytesMax: 512 * MIB,
  dataCharsMax: 1024 * MIB,
  unpackedBytesMax: 256 * MIB,
  entriesMax: 20_000,
  pagesMax: 20_000,
  blocksMax: 1_000_000,
  imagesMax: 2_000,
  imagesMs: 7_200_000,
  imageBytesMax: 32 * MIB,
  textCharsMax: 64 * MIB,
  outputBytesMax: 128 * MIB,
  deadlineMs: 60_000,
  memoryBytesMax: 512 * MIB,
};
