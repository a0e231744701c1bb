import type { ChunkReader, Passage } from '../../index/chunk-index.ts';
import type { LiveDocuments } from '../documents/live-documents.ts';
import type { FoundChunk, RankedChunk } from '../rank.ts';
import { collapse } from './collapse.ts';

/** Number of extra passages to read, as replacements for near-duplicates. */
const PASSAGES_BEYOND = 8;

/**
 * Take the best ranked chunks, and read their passages and the details of their documents. Skip chunks of documents
 * that the caller may no longer see.
 */
export async function readBest(
  reader: Pick<ChunkReader, 'readPassages'>,
  ranked: readonly RankedChunk[],
  bounds: { readonly wanted: number; readonly perDocumentMax: number | null },
  documents: Pick<LiveDocuments, 'readDetails'>,
): Promise<FoundChunk[]> {
  const read: (RankedChunk & Passage)[] = [];
  for (let size = bounds.wanted + PASSAGES_BEYOND; ; size *= 2) {
    read.push(...(await reader.readPassages(ranked.slice(read.length, size))));
    const best = collapse(read, bounds);
    if (best.length < bounds.wanted && read.length < ranked.length) continue;
    const details = await documents.readDetails([...new Set(best.map(({ documentId }) => documentId))]);
    return best.flatMap((chunk) => {
      const own = details.get(chunk.documentId);
      return own ? [{ ...chunk, details: own }] : [];
    });
  }
}
