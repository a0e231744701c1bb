import type { RowData } from '@zilliz/milvus2-sdk-node';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { BOILERPLATE } from '../boilerplate.ts';
import type { IndexedGeneration } from '../chunk-index.ts';
import { hashOf } from '../row-sample.ts';
import { VERSION_KEY } from './collections.ts';
import { encodeTerms, NO_TERMS } from './encode-terms.ts';

/** Maximum length of a text piece in UTF-16 units, each at most three bytes. */
const PIECE_UNITS_MAX = 20_000;

/** Build the rows of generations. */
export function* rowsOf(generations: readonly IndexedGeneration[]): Generator<RowData> {
  for (const { chunks, vectors } of generations) {
    for (const [at, chunk] of chunks.entries()) {
      const locator = JSON.stringify(chunk.locator);
      yield {
        chunk_id: chunk.chunkId,
        document_id: chunk.documentId,
        generation: chunk.generation,
        chunk_index: chunk.chunkIndex,
        collection_id: chunk.collectionId,
        privacy_level: chunk.privacyLevel,
        event_time: chunk.eventTimeMs,
        is_boilerplate: locator.includes(BOILERPLATE),
        hash: hashOf(chunk.chunkId),
        text: cut(chunk.text),
        locator: cut(locator),
        tokens: encodeTerms(chunk.tokens),
        vector: Array.from(vectors.subarray(at * INDEX_DIMENSIONS, (at + 1) * INDEX_DIMENSIONS)),
      };
    }
  }
}

/** Build the row that stores the version of a collection. */
export function versionRow(version: number): RowData {
  return {
    chunk_id: VERSION_KEY,
    document_id: VERSION_KEY,
    generation: 0,
    chunk_index: version,
    collection_id: null,
    privacy_level: 0,
    event_time: null,
    is_boilerplate: false,
    hash: 0,
    text: [],
    locator: [],
    tokens: NO_TERMS,
    vector: Array.from({ length: INDEX_DIMENSIONS }, () => 0),
  };
}

/** Split a text into pieces that fit into a field, never within a surrogate pair: its halves would become `U+FFFD`. */
export function cut(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + PIECE_UNITS_MAX);
    if (to < text.length && /[\ud800-\udbff]/.test(text[to - 1] as string)) to--;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}
