import type { Threads } from '../platform/threads.ts';
import type { OpenHeading } from './chunk.ts';
import type { TextWindow } from './extract/blocks.ts';
import {
  CHUNKS_MAX,
  type ChunkPage,
  PAGE_CHUNKS,
  type PreparedChunk,
  prepareWindow,
  unpackPage,
} from './prepare-chunks.ts';

/**
 * Buffer of a document's chunks until they are embedded. The chunks of a long document are packed into pages of about a
 * quarter of the text's size.
 */
export class ChunkBuffer {
  readonly #threads: Threads;
  readonly #options: { chunkTokens: number; overlapTokens: number };
  readonly #pages: ChunkPage[] = [];
  #openHeadings: readonly OpenHeading[] = [];
  #count = 0;

  constructor(threads: Threads, options: { chunkTokens: number; overlapTokens: number }) {
    this.#threads = threads;
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  /** Split the next window of the document into chunks. Return false once there are more than `CHUNKS_MAX` in total. */
  async add(window: TextWindow, signal: AbortSignal): Promise<boolean> {
    const request = { ...this.#options, window, openHeadings: this.#openHeadings };
    const prepared = await prepareWindow(this.#threads, request, signal);
    if (prepared === null) return false;
    this.#openHeadings = prepared.openHeadings;
    for (const page of prepared.pages) {
      this.#pages.push(page);
      this.#count += page.count;
    }
    return this.#count <= CHUNKS_MAX;
  }

  /** Yield all chunks in order, keeping them in the buffer. */
  async *chunks(): AsyncGenerator<PreparedChunk> {
    for (const page of this.#pages) yield* await unpackPage(page);
  }

  /** Yield all chunks in order, numbered from 0, `PAGE_CHUNKS` at a time, removing them from the buffer. */
  async *pages(): AsyncGenerator<PreparedChunk[]> {
    let index = 0;
    let chunks: PreparedChunk[] = [];
    for (let page = this.#pages.shift(); page !== undefined; page = this.#pages.shift()) {
      for (const chunk of await unpackPage(page)) {
        chunks.push({ ...chunk, index: index++ });
        if (chunks.length < PAGE_CHUNKS) continue;
        yield chunks;
        chunks = [];
      }
    }
    if (chunks.length > 0) yield chunks;
  }
}
