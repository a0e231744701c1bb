import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { Locator } from '../documents/locator.ts';
import { findBucket } from '../documents/store.ts';
import { conflict } from '../platform/errors.ts';
import { FairGate } from '../platform/fair-gate.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { textInteger } from '../platform/zod-integers.ts';
import type { ArtifactChunk } from './artifact.ts';
import { readArtifactParts } from './artifact-store.ts';
import { findReadableDocument, type ReadableDocument } from './store.ts';

export interface ReadingContext {
  readonly sql: Sql;
  readonly objects: Objects;
}

/** Limits on concurrent reads of artifacts. A part of an artifact, with its vectors, takes up to 10 MB. */
const READS = { runningMax: 4, runningOfOneMax: 2, waitingOfOneMax: 200 };
const TEXT_CHARS_MAX = 200_000;

export const DocumentTextQuery = z.object({
  offset: textInteger(z.int().min(0).default(0)).describe('first character'),
  limit: textInteger(z.int().min(1).max(TEXT_CHARS_MAX).default(50_000)).describe('characters at most'),
});
export type DocumentTextQuery = z.output<typeof DocumentTextQuery>;

export const DocumentText = z
  .object({
    id: z.string(),
    bucket_id: z.string(),
    file_name: z.string(),
    source_path: z.string().nullable(),
    offset: z.int(),
    text: z.string().describe('text as it was extracted; runs of blanks between passages may differ'),
    next_offset: z.int().nullable().describe('null: this is the end'),
  })
  .meta({ id: 'DocumentText' });
export type DocumentText = z.output<typeof DocumentText>;

const CHUNKS_MAX = 200;

export const DocumentChunksQuery = z.object({
  first: textInteger(z.int().min(0).max(10_000_000).default(0)).describe('index of the first chunk'),
  count: textInteger(z.int().min(1).max(CHUNKS_MAX).default(50)).describe('chunks at most'),
});
export type DocumentChunksQuery = z.output<typeof DocumentChunksQuery>;

export const DocumentChunks = z
  .object({
    id: z.string(),
    bucket_id: z.string(),
    chunks: z.array(
      z.object({
        id: z.string(),
        chunk_index: z.int(),
        text: z.string(),
        token_count: z.int(),
        locator: Locator,
      }),
    ),
    next: z.int().nullable().describe('index of the first chunk after these; null: this is the end'),
  })
  .meta({ id: 'DocumentChunks' });
export type DocumentChunks = z.output<typeof DocumentChunks>;

const reads = new FairGate(READS);

/**
 * Read a range of the extracted text of a document. Offsets are those of `citation.locator` of search results.
 * @throws AppError `bucket_not_found`, `document_not_found` (404), `document_not_ready` (409)
 */
export async function readDocumentText(
  context: ReadingContext,
  caller: Caller,
  ref: { readonly bucket: string; readonly document: string },
  query: DocumentTextQuery,
  signal: AbortSignal,
): Promise<DocumentText> {
  const bucket = await findBucket(context.sql, caller.orgId, ref.bucket);
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
    // Only blanks separate two chunks, and only the number of these blanks is known.
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

/**
 * Read chunks of a document with their places in it.
 * @throws AppError `document_not_found` (404), `document_not_ready` (409)
 */
export async function readDocumentChunks(
  context: ReadingContext,
  caller: Caller,
  documentId: string,
  query: DocumentChunksQuery,
  signal: AbortSignal,
): Promise<DocumentChunks> {
  const { document, chunks, isMoreAfter } = await readChunkWindow(context, caller, documentId, query, signal);
  return {
    id: document.id,
    bucket_id: document.bucketId,
    chunks: chunks.map(({ index, ...chunk }) => ({ ...chunk, chunk_index: index })),
    next: isMoreAfter ? query.first + query.count : null,
  };
}

/** Call `see` with each chunk in order until it returns false. */
async function eachChunk(
  { objects }: ReadingContext,
  orgId: string,
  document: ReadableDocument,
  signal: AbortSignal,
  see: (chunk: ArtifactChunk) => boolean,
): Promise<void> {
  const { artifactKey } = document;
  if (artifactKey === null) {
    throw conflict('the document has no text yet; wait until its status is "ready"', 'document_not_ready');
  }
  const read = async () => {
    for await (const part of readArtifactParts(objects, artifactKey, { signal })) {
      for (const chunk of part.chunks) if (!see(chunk)) return;
    }
  };
  await reads.run(orgId, read, () => signal);
}

function blanks(count: number): string {
  return '\n'.repeat(Math.min(count, 2)) + ' '.repeat(Math.max(count - 2, 0));
}
