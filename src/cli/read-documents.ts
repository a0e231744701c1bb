import type { DocumentView } from '../documents/schema.ts';
import type { DocumentText } from '../ingest/document-text.ts';
import { describePlace } from './describe-place.ts';
import type { Session } from './session.ts';

/** Read the whole text of a document. @throws AppError `document_not_ready` (409) */
export async function readTextOf(session: Session, { id, bucket_id: bucket }: DocumentView): Promise<DocumentText> {
  const first = await session.call('documents.text', { bucket, document: id, offset: 0 });
  const parts = [first.text];
  for (let next = first.next_offset; next !== null; ) {
    const range = await session.call('documents.text', { bucket, document: id, offset: next });
    parts.push(range.text);
    next = range.next_offset;
  }
  return { ...first, text: parts.join(''), next_offset: null };
}

/** Chunk of a document, as shown by the command line. */
export interface ShownChunk {
  readonly document_id: string;
  readonly chunk_index: number;
  readonly text: string;
  readonly token_count: number;
  readonly locator: Parameters<typeof describePlace>[0];
  /** Page, sheet or slide, and headings, on one line. */
  readonly place: string;
}

/** Read consecutive chunks of a document. @throws AppError `document_not_ready` (409) */
export async function readChunksOf(
  session: Session,
  { id }: DocumentView,
  window: { readonly first: number; readonly count: number },
): Promise<{ chunks: ShownChunk[]; isMore: boolean }> {
  const { chunks, isMoreAfter } = await session.call('documents.chunks', { document: id, ...window });
  const shown = chunks.map(({ index, text, token_count, locator }) => ({
    document_id: id,
    chunk_index: index,
    text,
    token_count,
    locator,
    place: describePlace(locator).join(' · '),
  }));
  return { chunks: shown, isMore: isMoreAfter };
}
