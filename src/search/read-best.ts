import type { ChunkSource } from './chunk-source.ts';
import { collapse } from './collapse.ts';
import type { DocumentDetails, LiveDocument } from './documents/document-store.ts';
import type { Candidate, Passage } from './legs.ts';
import type { FoundChunk, RankedChunk } from './rank.ts';

/** Passages that are read beyond those wanted, in place of near-duplicates. */
export const PASSAGES_BEYOND = 8;

/**
 * Take the best of the ranked chunks. Passages are read for as many of them as that needs.
 *
 * @param reading.early passages that are being read already; those that are missing are read here
 * @param reading.readDetails reads the details of documents that the caller may still see
 */
export async function readBest(
  source: ChunkSource,
  ranked: readonly RankedChunk[],
  bounds: { readonly wanted: number; readonly perDocumentMax: number | null },
  reading: {
    readonly early: Promise<readonly (Candidate & Passage)[]> | undefined;
    readDetails(documentIds: readonly string[]): Promise<ReadonlyMap<string, LiveDocument>>;
  },
): Promise<FoundChunk[]> {
  // What could not be read early is read now, and that may tell the reason.
  const early = (await reading.early?.catch(() => [])) ?? [];
  const known = new Map<string, Passage>(early.map((passage) => [passage.chunkId, passage]));
  const read: (RankedChunk & Passage)[] = [];
  for (let size = bounds.wanted + PASSAGES_BEYOND; ; size *= 2) {
    const next = ranked.slice(read.length, size);
    const missing = next.filter(({ chunkId }) => !known.has(chunkId));
    if (missing.length > 0) {
      for (const passage of await source.readPassages(missing)) known.set(passage.chunkId, passage);
    }
    for (const chunk of next) {
      const { text, locator } = known.get(chunk.chunkId) as Passage;
      read.push({ ...chunk, text, locator });
    }
    const best = collapse(read, bounds);
    if (best.length >= bounds.wanted || read.length === ranked.length) return addDetails(best, reading.readDetails);
  }
}

/** Add the details of their documents to chunks. Chunks whose document the caller may not see any more are left out. */
async function addDetails(
  chunks: readonly (RankedChunk & Passage)[],
  readDetails: (documentIds: readonly string[]) => Promise<ReadonlyMap<string, LiveDocument>>,
): Promise<FoundChunk[]> {
  const missing = new Set(chunks.flatMap(({ documentId, document }) => (document.details ? [] : documentId)));
  const read = missing.size === 0 ? new Map<string, LiveDocument>() : await readDetails([...missing]);
  return chunks.flatMap((chunk) => {
    const details: DocumentDetails | null | undefined = chunk.document.details ?? read.get(chunk.documentId)?.details;
    return details ? [{ ...chunk, details }] : [];
  });
}
