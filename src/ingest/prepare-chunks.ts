import { promisify } from 'node:util';
import { deflateRawSync, inflateRaw } from 'node:zlib';
import type { Locator } from '../documents/locator.ts';
import { analyse } from '../language/analyser.ts';
import { languageOfText } from '../language/text-language.ts';
import { countTokens } from '../models/tokens.ts';
import { type Threads, transferResult } from '../platform/threads.ts';
import { headingsAfter, type OpenHeading, streamChunks } from './chunk.ts';
import type { Chunk } from './chunk-packer.ts';
import type { TextWindow } from './extract/blocks.ts';

/** Chunk ready to be embedded and indexed. Its index counts from the first chunk of its window. */
export interface PreparedChunk extends Chunk {
  /** Model input: the headings above the chunk, the header of its table, then its text. */
  readonly embedText: string;
  /** Tokens for keyword search: the analysed `embedText`, then the headings again, separated by spaces. */
  readonly tokens: string;
}

export interface PrepareRequest {
  readonly window: TextWindow;
  /** Headings above the start of the window. */
  readonly openHeadings: readonly OpenHeading[];
  readonly chunkTokens: number;
  readonly overlapTokens: number;
}

/** Consecutive chunks. `packed` is the format read by `unpackPage`. */
export type ChunkPage =
  | { readonly count: number; readonly chunks: readonly PreparedChunk[] }
  | { readonly count: number; readonly packed: Uint8Array };

export interface PreparedWindow {
  readonly pages: readonly ChunkPage[];
  /** Headings above the start of the next window. */
  readonly openHeadings: readonly OpenHeading[];
}

/** Maximum length of a text to chunk on this thread. A longer one would block the event loop for more than 10 ms. */
const INLINE_CHARS_MAX = 16_384;
/**
 * Length from which a window's chunks are packed, since they may be held together with those of a hundred other
 * windows.
 */
const PACKED_CHARS_MIN = 1024 * 1024;

/** Maximum number of chunks per document. */
export const CHUNKS_MAX = 200_000;
/** Number of chunks to embed, store and index together: 2 MB of vectors, and up to 3 MB of native vectors. */
export const PAGE_CHUNKS = 512;

/**
 * Split a window into chunks and analyse them, on a worker thread if it is long. Return null if there are more than
 * `CHUNKS_MAX`.
 */
export function prepareWindow(
  threads: Threads,
  request: PrepareRequest,
  signal: AbortSignal,
): Promise<PreparedWindow | null> {
  const { length } = request.window.text;
  if (length <= INLINE_CHARS_MAX) return Promise.resolve(prepareHere(request));
  const name = length < PACKED_CHARS_MIN ? 'prepareHere' : 'preparePacked';
  return threads.run(new URL(import.meta.url), name, request, { signal });
}

/** Split and analyse a window on the calling thread. */
export function prepareHere({
  window,
  openHeadings,
  chunkTokens,
  overlapTokens,
}: PrepareRequest): PreparedWindow | null {
  const prepared: PreparedChunk[] = [];
  for (const chunk of streamChunks(window, { chunkTokens, overlapTokens, openHeadings, countTokens })) {
    if (prepared.length === CHUNKS_MAX) return null;
    const embedText = embedTextOf(chunk);
    const locator = moved(chunk.locator, window.start);
    prepared.push({ ...chunk, locator, embedText, tokens: tokensOf(chunk, embedText) });
  }
  const pages: ChunkPage[] = [];
  for (let at = 0; at < prepared.length; at += PAGE_CHUNKS) {
    const chunks = prepared.slice(at, at + PAGE_CHUNKS);
    pages.push({ count: chunks.length, chunks });
  }
  return { pages, openHeadings: headingsAfter(window.blocks, openHeadings) };
}

/** Split and analyse one of many windows, and pack its pages. Called on a worker thread. */
export function preparePacked(request: PrepareRequest): unknown {
  const prepared = prepareHere(request);
  if (prepared === null) return null;
  const pages = prepared.pages.map((page) => {
    // `embedText` can be derived from the other fields.
    const kept = 'chunks' in page ? page.chunks.map(({ embedText: _, ...chunk }) => chunk) : [];
    const packed = Uint8Array.from(deflateRawSync(JSON.stringify(kept), { level: 1 }));
    return { count: page.count, packed };
  });
  const buffers = pages.map(({ packed }) => packed.buffer);
  return transferResult({ pages, openHeadings: prepared.openHeadings }, buffers);
}

export async function unpackPage(page: ChunkPage): Promise<readonly PreparedChunk[]> {
  if ('chunks' in page) return page.chunks;
  const kept = JSON.parse((await inflate(page.packed)).toString('utf8')) as Omit<PreparedChunk, 'embedText'>[];
  return kept.map((chunk) => ({ ...chunk, embedText: embedTextOf(chunk) }));
}

const inflate = promisify<Uint8Array, Buffer>(inflateRaw);

/** Compute the `tokens` of stored chunks on the calling thread. */
export function analyseKept(chunks: readonly KeptChunk[]): string[] {
  return chunks.map((chunk) => tokensOf(chunk, embedTextOf(chunk)));
}

/** Fields of a chunk from which all its texts are derived. */
export type KeptChunk = Pick<Chunk, 'text'> & { readonly locator: Pick<Locator, 'heading_path' | 'table_header'> };

/** Return the text that the model embeds: the headings above a chunk, then the text shown in results. */
export function embedTextOf(chunk: KeptChunk): string {
  const headings = chunk.locator.heading_path.filter((heading) => !chunk.text.startsWith(heading));
  const text = shownTextOf(chunk);
  return headings.length > 0 ? `${headings.join(' > ')}\n${text}` : text;
}

/** Return the text shown in results. Rows from within a table follow its column names. */
export function shownTextOf({ text, locator }: KeptChunk): string {
  return locator.table_header === undefined ? text : `${locator.table_header}\n${text}`;
}

/** Convert offsets within a window to offsets within the document's text. */
function moved(locator: Locator, by: number): Locator {
  const { start, end, places } = locator;
  const offsets = { start: start + by, end: end + by };
  if (places === undefined) return { ...locator, ...offsets };
  return { ...locator, ...offsets, places: places.map((place) => ({ ...place, start: place.start + by })) };
}

/** Analyse a chunk. Count its headings twice, so that a title weighs more than a mention. */
function tokensOf({ locator }: Pick<KeptChunk, 'locator'>, embedText: string): string {
  const language = languageOfText(embedText);
  const headings = analyse(locator.heading_path.join('\n'), language);
  return [...analyse(embedText, language), ...headings].join(' ');
}
