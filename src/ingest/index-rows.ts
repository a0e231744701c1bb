import type { IndexedGeneration } from '../index/chunk-index.ts';
import type { Threads } from '../platform/threads.ts';
import type { ArtifactChunk } from './artifact.ts';
import { shownTextOf } from './prepare-chunks.ts';

/** Number of chunks per worker task of the analysis. */
const ANALYSE_CHUNKS = 512;

/**
 * Analyse the chunks of artifacts for keyword search. Artifacts don't store the tokens, which are in the index.
 * @returns a list for each artifact, in the order of its chunks
 */
export async function analyseArtifacts(
  threads: Threads,
  artifacts: readonly { readonly chunks: readonly ArtifactChunk[] }[],
  signal: AbortSignal,
): Promise<string[][]> {
  const all = artifacts.flatMap(({ chunks }) =>
    chunks.map(({ text, locator: { heading_path, table_header } }) => ({
      text,
      locator: { heading_path, ...(table_header === undefined ? {} : { table_header }) },
    })),
  );
  const module = new URL('./prepare-chunks.ts', import.meta.url);
  const slices = Array.from({ length: Math.ceil(all.length / ANALYSE_CHUNKS) }, (_, nth) =>
    all.slice(nth * ANALYSE_CHUNKS, (nth + 1) * ANALYSE_CHUNKS),
  );
  const tokens = (
    await Promise.all(slices.map((slice) => threads.run<string[]>(module, 'analyseKept', slice, { signal })))
  ).flat();
  let start = 0;
  return artifacts.map(({ chunks }) => {
    const from = start;
    start += chunks.length;
    return tokens.slice(from, start);
  });
}

export interface RowSource {
  readonly documentId: string;
  readonly generation: number;
  readonly collectionId: string | null;
  readonly privacyLevel: number;
  readonly eventTimeMs: number | null;
  readonly chunks: readonly ArtifactChunk[];
  /** Tokens per chunk. */
  readonly tokens: readonly string[];
  /** Float32Array [chunks x dimensions], row-major. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

/** Yield the rows of a document in batches of `batchRows`. A batch is appended to the index atomically. */
export function* rowsOf(source: RowSource, batchRows: number): Generator<IndexedGeneration> {
  const { documentId, generation, collectionId, privacyLevel, eventTimeMs, dimensions } = source;
  for (let start = 0; start < source.chunks.length; start += batchRows) {
    const slice = source.chunks.slice(start, start + batchRows);
    yield {
      vectors: source.vectors.subarray(start * dimensions, (start + slice.length) * dimensions),
      chunks: slice.map((chunk, at) => ({
        chunkId: `${documentId}_${generation}_${chunk.index}`,
        documentId,
        generation,
        chunkIndex: chunk.index,
        text: shownTextOf(chunk),
        tokens: source.tokens[start + at] as string,
        locator: chunk.locator,
        collectionId,
        privacyLevel,
        eventTimeMs,
        modality: 'text' as const,
      })),
    };
  }
}
