import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { Locator } from '../documents/locator.ts';
import { textInteger } from '../platform/zod-integers.ts';
import { Highlight } from '../search/results/highlight.ts';
import type { ArtifactChunk } from './artifact.ts';
import { DocumentPlace, type FoundPlace, findPlace } from './document-places.ts';
import { eachChunk, type ReadingContext } from './each-chunk.ts';
import { findWords, WordFinder } from './find-words.ts';
import { findReadableDocument } from './store.ts';

const CHUNKS_MAX = 200;
const CHARS_MAX = 1_000_000_000;
const TEXT_CHARS_MAX = 500;

const textQuery = z
  .string()
  .trim()
  .min(1)
  .max(TEXT_CHARS_MAX)
  .refine((text) => !text.includes('\0'), 'must not have a null character')
  .optional();

export const DocumentChunksQuery = z
  .object({
    first: textInteger(z.int().min(0).max(10_000_000).optional()).describe('index of the first chunk; default: 0'),
    offset: textInteger(z.int().min(0).max(CHARS_MAX).optional()).describe(
      'instead of `first`: begin at the chunk with this character of the extracted text',
    ),
    page: textInteger(z.int().min(1).max(10_000_000).optional()).describe(
      'instead of `first`: begin at the first chunk of this page',
    ),
    heading: textQuery.describe(
      'instead of `first`: begin at the first chunk below this heading, or below the first heading that contains it',
    ),
    before: textInteger(z.int().min(0).max(CHUNKS_MAX).default(0)).describe(
      'number of earlier chunks to return in addition; `count` includes them',
    ),
    count: textInteger(z.int().min(1).max(CHUNKS_MAX).default(50)).describe('maximum number of chunks'),
    find: textQuery.describe(
      'return only the chunks that contain all or most of these words, in any form; a phrase in double quotes must occur exactly',
    ),
  })
  .refine(({ first, offset, page, heading }) => countGiven(first, offset, page, heading) <= 1, {
    message: 'give only one of first, offset, page and heading',
  })
  .refine(({ find, offset, page, heading }) => find === undefined || countGiven(offset, page, heading) === 0, {
    message: 'searches the whole document; leave out offset, page and heading',
    path: ['find'],
  });
export type DocumentChunksQuery = z.output<typeof DocumentChunksQuery>;

export const DocumentChunks = z
  .object({
    id: z.string(),
    bucket_id: z.string(),
    file_name: z.string(),
    page_count: z.int().nullable().describe('null where the format has no pages'),
    chunks_count: z.int().describe('chunks of the whole document'),
    url: z.string().nullable().describe('page that shows the first of these chunks'),
    place: DocumentPlace.optional().describe('place of `offset`, `page` or `heading`'),
    chunks: z.array(
      z.object({
        id: z.string(),
        chunk_index: z.int(),
        text: z.string(),
        token_count: z.int(),
        locator: Locator,
        highlights: z.array(Highlight).optional().describe('with `find`: at most 3 sentences that have the words'),
      }),
    ),
    next: z.int().nullable().describe('index of the first chunk after these; null: this is the end'),
    found: z
      .object({
        chunks: z.int().describe('chunks of the whole document that have the words'),
        complete: z.boolean().describe('false: no chunk contains all words; these contain most of them'),
      })
      .optional()
      .describe('with `find`'),
  })
  .meta({ id: 'DocumentChunks' });
export type DocumentChunks = z.output<typeof DocumentChunks>;

/**
 * Read chunks of a document with their places: a range, or those that contain the words of `query.find`.
 *
 * @throws AppError `document_not_found`, `place_not_found` (404), `document_not_ready` (409)
 */
export async function readDocumentChunks(
  context: ReadingContext,
  caller: Caller,
  documentId: string,
  query: DocumentChunksQuery,
  signal: AbortSignal,
): Promise<DocumentChunks> {
  const document = await findReadableDocument(context.sql, caller, { id: documentId });
  const see: SeeChunks = (each) => eachChunk(context, caller.orgId, document, signal, each);
  const part = query.find === undefined ? await readRange(see, query) : await readFound(see, query, query.find);
  return {
    id: document.id,
    bucket_id: document.bucketId,
    file_name: document.fileName,
    page_count: document.pageCount,
    chunks_count: document.chunksCount,
    url: null,
    ...part,
  };
}

type SeeChunks = (see: (chunk: ArtifactChunk) => boolean) => Promise<void>;
type Part = Pick<DocumentChunks, 'chunks' | 'next' | 'place' | 'found'>;

async function readRange(see: SeeChunks, query: DocumentChunksQuery): Promise<Part> {
  const place = await placeOf(see, query);
  const first = Math.max(0, (place?.index ?? query.first ?? 0) - query.before);
  const last = first + query.count;
  const chunks: ArtifactChunk[] = [];
  let isMore = false;
  await see((chunk) => {
    if (chunk.index >= last) isMore = true;
    else if (chunk.index >= first) chunks.push(chunk);
    return !isMore;
  });
  return {
    chunks: chunks.map((chunk) => toView(chunk)),
    next: isMore ? last : null,
    ...(place === null ? {} : { place: { start: place.start, page: place.page, heading_path: place.heading_path } }),
  };
}

async function placeOf(see: SeeChunks, query: DocumentChunksQuery): Promise<FoundPlace | null> {
  const { offset, page, heading } = query;
  if (countGiven(offset, page, heading) === 0) return null;
  return findPlace(see, { offset, page, heading });
}

async function readFound(see: SeeChunks, query: DocumentChunksQuery, find: string): Promise<Part> {
  const finder = new WordFinder(find);
  const { chunks, next, complete, found } = await findWords(see, finder, {
    first: query.first ?? 0,
    count: query.count,
  });
  return {
    chunks: chunks.map((chunk) => ({ ...toView(chunk), highlights: finder.highlight(chunk.text) })),
    next,
    found: { chunks: found, complete },
  };
}

function toView({ index, ...chunk }: ArtifactChunk): DocumentChunks['chunks'][number] {
  return { ...chunk, chunk_index: index };
}

function countGiven(...values: readonly unknown[]): number {
  return values.filter((value) => value !== undefined).length;
}
