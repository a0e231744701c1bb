import type { ComparedRow } from '../../index/chunk-index.ts';
import { weighTerms } from '../../language/analyser.ts';
import { termFinder } from '../../language/find-terms.ts';
import type { StemmedLanguage } from '../../language/stemmers.ts';
import { mapYielding } from '../../platform/map-yielding.ts';
import type { Alternatives } from '../synonyms/expand-terms.ts';
import { type CosineBackground, weightOf } from './background.ts';
import { COUNTED_WORDS_MAX, estimateRelevance, type RelevanceFeatures } from './estimate.ts';
import { type RelevanceFields, relevanceOf } from './schema.ts';

/** Number of chunks to judge before yielding. Each takes a few tenths of a millisecond. */
const CHUNKS_AT_ONCE = 10;
/** Minimum distance of the background mean from 1. */
const ROOM_MIN = 0.01;
type ModelKind = 'lexical' | 'semantic';

/** Query with the data needed to judge its results. */
interface JudgedQuery {
  /** Query terms in order. */
  readonly terms: readonly string[];
  /** Likely language of the query; null for English or unknown. */
  readonly language?: StemmedLanguage | null;
  /** Terms that also count as a match for query terms. */
  readonly alternatives: readonly Alternatives[];
  /** Sample of the index, compared with the query. */
  readonly sample: readonly ComparedRow[];
  /** Background of a semantic model's vector, from `backgroundOf`; null if there is none. */
  readonly background: CosineBackground | null;
  /** Number of words from `countWords`. */
  readonly words: number;
}

/** Chunk fields needed to judge it. */
interface Judged {
  readonly chunkId: string;
  readonly text: string;
  readonly cosine: number | null;
}

/**
 * Estimate the relevance of chunks. It depends only on the query, the chunk and the sample of the index, not on other
 * results. It is null for a vector that was imported without its text.
 *
 * @param query.kind kind of the model of its vector; null if it has none or an incomparable one
 * @param query.cosines cosines of chunks that the vector leg didn't find, by chunk id
 */
export async function judgeChunks<C extends Judged>(
  chunks: readonly C[],
  query: JudgedQuery & { readonly kind: ModelKind | null; readonly cosines: ReadonlyMap<string, number> },
): Promise<(C & RelevanceFields)[]> {
  const { kind, cosines } = query;
  const judge = weigh(query);
  return mapYielding(chunks, CHUNKS_AT_ONCE, (chunk) => {
    if (chunk.text === '') return { ...chunk, ...relevanceOf(null) };
    const features = judge(chunk.text, chunk.cosine ?? cosines.get(chunk.chunkId) ?? null);
    return { ...chunk, ...relevanceOf(estimateRelevance(features, kind)) };
  });
}

/** Compute the features of one text. */
export function featuresOf(text: string, cosine: number | null, query: JudgedQuery): RelevanceFeatures {
  return weigh(query)(text, cosine);
}

/** Return a function that computes the features of texts for a query. */
function weigh({ terms, language, alternatives, sample, background, words }: JudgedQuery) {
  // Reduce the weight of function words, as in the keyword leg.
  const weights = new Map(
    weighTerms(terms, language ?? null).flatMap((group) =>
      group.terms.map((term) => [term, Math.min(1, group.weight) * weightOf(term, sample)] as const),
    ),
  );
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const find = termFinder(new Set([...weights.keys(), ...alternatives.flatMap(({ others }) => others.flat())]));
  return (text: string, cosine: number | null): RelevanceFeatures => {
    const found = find(text);
    const replaced = new Set(
      alternatives.flatMap(({ phrase, others }) =>
        others.some((other) => other.every((term) => found.has(term))) ? phrase : [],
      ),
    );
    let matched = 0;
    for (const [term, weight] of weights) if (found.has(term) || replaced.has(term)) matched += weight;
    return {
      coverage: all === 0 ? 0 : matched / all,
      excess: background === null ? undefined : cosine === null ? null : excessOf(cosine, background),
      rows: background?.rows ?? sample.length,
      words,
    };
  };
}

function excessOf(cosine: number, { mean }: CosineBackground): number {
  return (cosine - mean) / Math.max(ROOM_MIN, 1 - mean);
}

/** Count the words of a query, up to `COUNTED_WORDS_MAX`. */
export function countWords(query: string): number {
  let words = 0;
  for (const { isWordLike } of segmenter().segment(query)) {
    if (isWordLike && ++words === COUNTED_WORDS_MAX) break;
  }
  return words;
}

let wordSegmenter: Intl.Segmenter | null = null;

function segmenter(): Intl.Segmenter {
  wordSegmenter ??= new Intl.Segmenter('und', { granularity: 'word' });
  return wordSegmenter;
}
