import { embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import type { IndexedChunk, IndexedGeneration } from '../../src/index/chunk-index.ts';
import { analyse } from '../../src/language/analyser.ts';

/** Pseudo-random numbers in [0, 1) from a seed: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draw a text of words whose frequencies fall as in natural language. */
export function drawText(random: () => number, words: number, vocabulary = 2_000): string {
  return Array.from({ length: words }, () => `term${Math.floor(vocabulary ** random())}x`).join(' ');
}

/** Generation of one document with these texts, with vectors of the built-in model. */
export function generationOf(number: number, texts: readonly string[]): IndexedGeneration {
  return {
    vectors: embedLexicalPassages(texts),
    chunks: texts.map(
      (text, index): IndexedChunk => ({
        ...{ chunkId: `doc_${number}_${number}_${index}`, documentId: `doc_${number}`, generation: number },
        ...{ collectionId: null, chunkIndex: index, text, tokens: analyse(text).join(' ') },
        locator: { page: null, heading_path: [], start: 0, end: text.length },
        ...{ modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
      }),
    ),
  };
}
