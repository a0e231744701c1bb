import type { Caller } from '../access/caller.ts';
import type { DocumentView } from '../documents/schema.ts';
import type { ArtifactChunk } from '../ingest/artifact.ts';
import { type DocumentText, type ReadingContext, readChunkWindow, readDocumentText } from '../ingest/document-text.ts';
import { describePlace } from './search-results.ts';

const RANGE_CHARACTERS = 200_000;

/** Read the whole text of a document. @throws AppError `document_not_ready` (409) */
export async function readTextOf(
  context: ReadingContext,
  caller: Caller,
  { id, bucket_id: bucket }: DocumentView,
  signal: AbortSignal,
): Promise<DocumentText> {
  const read = (offset: number) =>
    readDocumentText(context, caller, { bucket, document: id }, { offset, limit: RANGE_CHARACTERS }, signal);
  const first = await read(0);
  const parts = [first.text];
  for (let next = first.next_offset; next !== null; ) {
    const range = await read(next);
    parts.push(range.text);
    next = range.next_offset;
  }
  return { ...first, text: parts.join(''), next_offset: null };
}

/** Chunk of a document as the command line shows it. */
export interface ShownChunk {
  readonly document_id: string;
  readonly chunk_index: number;
  readonly text: string;
  readonly token_count: number;
  readonly locator: ArtifactChunk['locator'];
  /** Page, sheet or slide, and headings, in one line. */
  readonly place: string;
}

/** Read consecutive chunks of a document. @throws AppError `document_not_ready` (409) */
export async function readChunksOf(
  context: ReadingContext,
  caller: Caller,
  { id }: DocumentView,
  window: { readonly first: number; readonly count: number },
  signal: AbortSignal,
): Promise<{ chunks: ShownChunk[]; isMore: boolean }> {
  const { chunks, isMoreAfter } = await readChunkWindow(context, caller, id, window, signal);
  const shown = chunks.map(({ index, text, token_count, locator }) => ({
    ...{ document_id: id, chunk_index: index, text, token_count, locator },
    place: describePlace(locator).join(' · '),
  }));
  return { chunks: shown, isMore: isMoreAfter };
}
