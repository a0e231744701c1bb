import { countTokens } from '../models/tokens.ts';
import type { Threads } from '../platform/threads.ts';
import { analyse } from '../search/analyser.ts';
import { type Chunk, streamChunks } from './chunk.ts';
import type { Block } from './extract/blocks.ts';

/** A chunk ready to be embedded and indexed. */
export interface PreparedChunk extends Chunk {
  /** What the model reads: the headings that the chunk stands under, then its text. */
  readonly embedText: string;
  /** What keyword search matches: the same, analysed, joined by spaces. */
  readonly tokens: string;
}

export interface PrepareRequest {
  readonly text: string;
  readonly blocks: readonly Block[];
  readonly chunkTokens: number;
  readonly overlapTokens: number;
}

/** Texts below this are chunked where they are; longer ones would hold the event loop for more than 10 ms. */
const INLINE_CHARS_MAX = 16_384;

/**
 * Bound on the chunks of one document: all of them, with their vectors, are in memory at once (100 MB, and for native
 * vectors of 3,072 dimensions 120 MB more).
 */
export const CHUNKS_MAX = 20_000;

/** Cut a document into chunks and analyse them, on a worker thread when it is long. Null: more than `CHUNKS_MAX`. */
export function prepareChunks(
  threads: Threads,
  request: PrepareRequest,
  signal: AbortSignal,
): Promise<PreparedChunk[] | null> {
  if (request.text.length <= INLINE_CHARS_MAX) return Promise.resolve(prepareHere(request));
  return threads.run(new URL(import.meta.url), 'prepareHere', request, { signal });
}

/** The same work on the calling thread. */
export function prepareHere(request: PrepareRequest): PreparedChunk[] | null {
  const { text, blocks, chunkTokens, overlapTokens } = request;
  const prepared: PreparedChunk[] = [];
  for (const chunk of streamChunks({ text, blocks }, { chunkTokens, overlapTokens, countTokens })) {
    if (prepared.length === CHUNKS_MAX) return null;
    const embedText = embedTextOf(chunk.text, chunk.locator.heading_path);
    prepared.push({ ...chunk, embedText, tokens: tokensOf(embedText) });
  }
  return prepared;
}

/** On the thread that calls: `tokens` of chunks that were kept. */
export function analyseKept(chunks: readonly { text: string; headingPath: readonly string[] }[]): string[] {
  return chunks.map(({ text, headingPath }) => tokensOf(embedTextOf(text, headingPath)));
}

function embedTextOf(text: string, headingPath: readonly string[]): string {
  const headings = headingPath.filter((heading) => !text.startsWith(heading));
  return headings.length > 0 ? `${headings.join(' > ')}\n${text}` : text;
}

function tokensOf(embedText: string): string {
  return analyse(embedText).join(' ');
}
