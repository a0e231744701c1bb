/** Bounds on the reading of one document. */
export interface ExtractLimits {
  /** txt and md are held in the worker's memory, once as bytes and once as text. */
  readonly textBytesMax: number;
  /** The tree of a page full of tags takes about thirty times its bytes, so memory may end first. */
  readonly htmlBytesMax: number;
  /** A PDF is held in the child's memory as a whole. */
  readonly pdfBytesMax: number;
  /** Office documents, books and Hancom documents: held in the child's memory, with what is unpacked of them beside. */
  readonly officeBytesMax: number;
  /** Mail and rich text: the child holds them several times over, in bytes and in text. */
  readonly mailBytesMax: number;
  readonly rtfBytesMax: number;
  /** csv and json, of which a window is held at a time, and their text. */
  readonly dataBytesMax: number;
  readonly dataCharsMax: number;
  /** Bytes unpacked of one document, with all that is attached to it. */
  readonly unpackedBytesMax: number;
  /** Entries of its archives. */
  readonly entriesMax: number;
  readonly pagesMax: number;
  readonly blocksMax: number;
  /** Pictures of a document whose text is read. */
  readonly imagesMax: number;
  /** Wall clock of reading them, beside the deadline of the document. */
  readonly imagesMs: number;
  /** A picture that is uploaded as a document. */
  readonly imageBytesMax: number;
  /** Characters (UTF-16 units) of extracted text. */
  readonly textCharsMax: number;
  /** What a child may print before it is killed. */
  readonly outputBytesMax: number;
  /** Wall clock of one document, from the first byte to the last block. */
  readonly deadlineMs: number;
  /** Resident memory of a child. */
  readonly memoryBytesMax: number;
}

const MIB = 1024 * 1024;

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
  imagesMs: 3_600_000,
  imageBytesMax: 32 * MIB,
  textCharsMax: 64 * MIB,
  outputBytesMax: 128 * MIB,
  deadlineMs: 60_000,
  memoryBytesMax: 512 * MIB,
};
