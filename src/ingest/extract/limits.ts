/** Limits on the reading of one document. */
export interface ExtractLimits {
  /** Bytes of txt and md files. They are in memory twice: as bytes and as text. */
  readonly textBytesMax: number;
  /**
   * Bytes of HTML files. The tree of a page with many tags takes about thirty times its bytes, so the memory limit may
   * apply first.
   */
  readonly htmlBytesMax: number;
  /** Bytes of PDF files. The child holds a whole file in memory. */
  readonly pdfBytesMax: number;
  /**
   * Bytes of office documents, books and Hancom documents. The child holds them in memory together with their
   * unpacked parts.
   */
  readonly officeBytesMax: number;
  /** Bytes of mail and rich text. The child holds them in memory several times, as bytes and as text. */
  readonly mailBytesMax: number;
  readonly rtfBytesMax: number;
  /** Bytes of csv and json files. One window is held at a time. */
  readonly dataBytesMax: number;
  /** Characters of text extracted from csv and json files. */
  readonly dataCharsMax: number;
  /** Bytes unpacked from one document and its attachments. */
  readonly unpackedBytesMax: number;
  /** Entries of the archives of one document. */
  readonly entriesMax: number;
  readonly pagesMax: number;
  readonly blocksMax: number;
  /** Pictures of a document to recognise text in. */
  readonly imagesMax: number;
  /** Processor time for recognising them, in addition to that of the document; wall clock time of a vision model. */
  readonly imagesMs: number;
  /** Bytes of a picture uploaded as a document. */
  readonly imageBytesMax: number;
  /** Characters (UTF-16 units) of extracted text. */
  readonly textCharsMax: number;
  /** Bytes that a child may print before it is killed. */
  readonly outputBytesMax: number;
  /**
   * Processor time of one document. Wall clock time only bounds a hang: `HANG_FACTOR` times as much without any
   * progress.
   */
  readonly deadlineMs: number;
  /** Resident memory of a child. */
  readonly memoryBytesMax: number;
}

/** Time without progress that counts as a hang, in units of the processor time of a document. */
export const HANG_FACTOR = 5;

const MIB = 1024 * 1024;

/**
 * Amplification that a document may have: bytes unpacked, and characters of text, per byte of the file. XML packs to
 * a tenth, repeated cells of a sheet to a hundredth. A ratio far beyond that indicates a file made to be expensive.
 */
const UNPACKED_BYTES_PER_BYTE = 200;
const TEXT_CHARS_PER_BYTE = 100;
/** Amounts that every file may have, however small. */
const UNPACKED_BYTES_FREE = 16 * MIB;
const TEXT_CHARS_FREE = MIB;

/** Lower the bounds for a small file, in proportion to its size. */
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
