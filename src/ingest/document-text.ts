import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { findBucket } from '../documents/store.ts';
import { textInteger } from '../platform/zod-integers.ts';
import type { ArtifactChunk } from './artifact.ts';
import { eachChunk, type ReadingContext } from './each-chunk.ts';
import { findReadableDocument, type ReadableDocument } from './store.ts';

/** Most characters of one reply, which takes about ten bytes of memory for each while the client reads it. */
export const TEXT_CHARS_MAX = 200_000;

export const DocumentTextQuery = z.object({
  offset: textInteger(z.int().min(0).default(0)).describe('first character'),
  limit: textInteger(z.int().min(1).max(TEXT_CHARS_MAX).default(50_000)).describe('maximum number of characters'),
});
export type DocumentTextQuery = z.output<typeof DocumentTextQuery>;

export const DocumentText = z
  .object({
    id: z.string(),
    bucket_id: z.string(),
    file_name: z.string(),
    source_path: z.string().nullable(),
    offset: z.int(),
    text: z.string().describe('extracted text; white space between passages may differ'),
    next_offset: z.int().nullable().describe('offset of the next range; null: end of the text'),
  })
  .meta({ id: 'DocumentText' });
export type DocumentText = z.output<typeof DocumentText>;

/**
 * Read a range of a document's extracted text. Offsets are those of `citation.locator` in search results.
 * @throws AppError `bucket_not_found`, `document_not_found` (404), `document_not_ready` (409)
 */
export async function readDocumentText(
  context: ReadingContext,
  caller: Caller,
  ref: { readonly bucket: string; readonly document: string },
  query: DocumentTextQuery,
  signal: AbortSignal,
): Promise<DocumentText> {
  const bucket = await findBucket(context.sql, caller, ref.bucket);
  const document = await findReadableDocument(context.sql, caller, { id: ref.document, bucketId: bucket.id });
  const end = query.offset + query.limit;
  let text = '';
  let reached = query.offset;
  let isMore = false;
  await eachChunk(context, caller.orgId, document, signal, (chunk) => {
    const { start, end: chunkEnd } = chunk.locator;
    if (chunkEnd <= reached) return true;
    if (start >= end) isMore = true;
    if (isMore) return false;
    // Chunks are separated only by blanks, of which only the number is known.
    if (start > reached) text += blanks(start - reached);
    const from = Math.max(start, reached);
    const to = Math.min(chunkEnd, end);
    text += chunk.text.slice(from - start, to - start);
    reached = to;
    isMore = to < chunkEnd;
    return !isMore;
  });
  return {
    id: document.id,
    bucket_id: document.bucketId,
    file_name: document.fileName,
    source_path: document.sourcePath,
    offset: query.offset,
    text,
    next_offset: isMore ? end : null,
  };
}

/** Consecutive chunks of a document. */
export interface ChunkWindow {
  readonly document: ReadableDocument;
  readonly chunks: readonly ArtifactChunk[];
  readonly isMoreBefore: boolean;
  readonly isMoreAfter: boolean;
}

/** Read a chunk and the chunks around it. @throws AppError `document_not_found` (404), `document_not_ready` (409) */
export async function readChunkWindow(
  context: ReadingContext,
  caller: Caller,
  documentId: string,
  window: { readonly first: number; readonly count: number },
  signal: AbortSignal,
): Promise<ChunkWindow> {
  const document = await findReadableDocument(context.sql, caller, { id: documentId });
  const last = window.first + window.count;
  const chunks: ArtifactChunk[] = [];
  let isMoreAfter = false;
  await eachChunk(context, caller.orgId, document, signal, (chunk) => {
    if (chunk.index >= last) isMoreAfter = true;
    else if (chunk.index >= window.first) chunks.push(chunk);
    return !isMoreAfter;
  });
  return { document, chunks, isMoreBefore: window.first > 0, isMoreAfter };
}

function blanks(count: number): string {
  return '\n'.repeat(Math.min(count, 2)) + ' '.repeat(Math.max(count - 2, 0));
}
