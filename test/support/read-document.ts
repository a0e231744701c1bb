import { Readable } from 'node:stream';
import type { BlockDraft } from '../../src/ingest/extract/blocks.ts';
import { detectFormat, isPictureFormat } from '../../src/ingest/extract/detect-format.ts';
import { loadReader } from '../../src/ingest/extract/document-readers.ts';
import { type ExtractedDocument, extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { DEFAULT_EXTRACT_LIMITS, type ExtractLimits } from '../../src/ingest/extract/limits.ts';
import { isTextFormat, readInWorker } from '../../src/ingest/extract/read-in-worker.ts';
import type { ReadResult } from '../../src/ingest/extract/reader.ts';

/** Read a document as a job does, in a child process if its format has its own parser. */
export function extract(
  bytes: Uint8Array,
  fileName: string,
  limits: Partial<ExtractLimits> = {},
): Promise<ExtractedDocument> {
  return extractDocument({ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName, limits });
}

export interface ReadDocument extends ReadResult {
  readonly blocks: BlockDraft[];
}

/** Read a document with the same code in this process, which takes milliseconds. */
export async function readHere(
  bytes: Uint8Array,
  fileName: string,
  own: Partial<ExtractLimits> = {},
): Promise<ReadDocument> {
  const limits = { ...DEFAULT_EXTRACT_LIMITS, ...own };
  const blocks: BlockDraft[] = [];
  const add = (block: BlockDraft) => {
    blocks.push(block);
  };
  const sink = { add, flush: async () => {} };
  const { format, charset } = await detectFormat({ head: bytes, fileName });
  if (isTextFormat(format)) {
    const file = { format, charset, source: Readable.from([bytes]), sizeBytes: bytes.length };
    return { ...(await readInWorker(file, sink)), blocks };
  }
  if (isPictureFormat(format)) throw new Error('readHere reads no pictures; use extract');
  const read = await loadReader(format);
  const { pagesMax, htmlBytesMax, textCharsMax } = limits;
  const budget = { bytesLeft: limits.unpackedBytesMax, entriesLeft: limits.entriesMax };
  const reading = { sink, budget, images: null, pagesMax, htmlBytesMax };
  return {
    ...(await read(Uint8Array.from(bytes), reading, { charset, cmapFolder: null, wasmFolder: null, textCharsMax })),
    blocks,
  };
}

/**
 * Format blocks as one line each: kind, level, page, text. Blocks without text, which are dropped later, are left out.
 */
export function brief(blocks: readonly BlockDraft[]): string[] {
  return blocks
    .filter(({ text }) => text.trim() !== '')
    .map(
      ({ kind, level, page, text }) => `${kind}${level ?? ''}${page === undefined ? '' : `@${page}`}: ${text.trim()}`,
    );
}
