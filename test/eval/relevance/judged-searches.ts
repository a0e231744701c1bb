/** Searches with known answers, and the facts about their best results that the estimate of relevance sees. */
import { hashOf, RowSample } from '../../../src/index/row-sample.ts';
import { analyse } from '../../../src/language/analyser.ts';
import { SEMANTIC_ID } from '../../../src/models/catalog.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { BestRows } from '../../../src/resident/best-rows.ts';
import { KeywordRows } from '../../../src/resident/keywords/keyword-rows.ts';
import { analyseQuery } from '../../../src/search/analyse-query.ts';
import { fuseRankings, fusionFor } from '../../../src/search/fuse.ts';
import { backgroundOf, meanCosineOf } from '../../../src/search/relevance/background.ts';
import type { RelevanceFeatures } from '../../../src/search/relevance/estimate.ts';
import { countWords, featuresOf } from '../../../src/search/relevance/judge.ts';

/** Index of the searched bucket, without synonyms. */
const INDEX = {
  ...{ bucketId: 'bkt_1', synonyms: null, synonymsEdit: null },
  indexTable: { name: 'bucket', version: 1, origin: null, weights: null },
};
const SAMPLE = 128;
const DEPTH = 60;
const RESULTS = 10;

export type Kind = 'words' | 'semantic';
export type Mode = 'keyword' | 'vector' | 'hybrid';
/** Modes in which the estimate of a kind is used: without a vector, only words count. */
export const MODES: Record<Kind, readonly Mode[]> = {
  words: ['keyword', 'vector', 'hybrid'],
  semantic: ['vector', 'hybrid'],
};
/**
 * `answered`: the bucket has answers. `near`: its answers were removed. `off_topic`: it treats another subject.
 */
export type Situation = 'answered' | 'near' | 'off_topic';

/** Text of a bucket: what its vector and its keywords are made of, and what a search shows. */
export interface BucketText {
  readonly embedded: string;
  readonly shown: string;
}

export interface JudgedResult extends RelevanceFeatures {
  readonly isRelevant: boolean;
  readonly isFirst: boolean;
  readonly mode: Mode;
  readonly situation: Situation;
}

export type Bucket = ReturnType<typeof openBucket>;

/** @param vectors Float32Array [texts x 1024], row-major */
export function openBucket(texts: readonly BucketText[], vectors: Float32Array) {
  const rowOf = (at: number) => vectors.subarray(at * INDEX_DIMENSIONS, (at + 1) * INDEX_DIMENSIONS);
  const terms = texts.map(({ embedded }) => analyse(embedded));
  const keywords = new KeywordRows();
  for (const own of terms) {
    const bytes = new TextEncoder().encode(own.join(' '));
    keywords.add(bytes, 0, bytes.length);
  }
  const size = Math.min(SAMPLE, texts.length);
  const sampled = Array.from({ length: size }, (_, nth) => {
    const at = Math.floor(((nth + 0.5) * texts.length) / size);
    return { documentId: String(at), vector: rowOf(at), terms: new Set((terms[at] ?? []).map(hashOf)) };
  });
  return { texts, rowOf, keywords, sample: new RowSample(sampled) };
}

export interface Asked {
  readonly text: string;
  /** Float32Array [1024]. */
  readonly vector: Float32Array;
  /** Rows that answer the query. */
  readonly wanted: ReadonlySet<number>;
  /** Rows that count as not there. */
  readonly hidden?: ReadonlySet<number>;
}

/**
 * Search a bucket for a query and, if it has answers, search it again as if they had been removed.
 */
export function judgeQuery(
  { texts, rowOf, keywords, sample }: Bucket,
  { text, vector, wanted, hidden = new Set() }: Asked,
  kind: Kind,
): JudgedResult[] {
  const { sequence: terms, ownTerms, alternatives, language, ...query } = analyseQuery(text, [INDEX]);
  const words = countWords(text);
  const depth = DEPTH + wanted.size + hidden.size;
  const best = new BestRows(depth, (row) => String(row));
  keywords.search(ownTerms.get(INDEX.indexTable.name) ?? query.terms, null, { best, first: 0 });
  const found = best.toSorted().map(({ row, score }) => ({ id: String(row), score }));
  const cosines = texts.map((_, at) => dot(vector, rowOf(at)));
  const nearest = cosines
    .map((_, at) => at)
    .sort((a, b) => (cosines[b] as number) - (cosines[a] as number))
    .slice(0, depth)
    .map((row) => ({ id: String(row), score: cosines[row] as number }));
  const compared = sample.compare({ vector: kind === 'semantic' ? vector : null, terms: [...new Set(terms)] });
  const situations: readonly Situation[] = wanted.size === 0 ? ['off_topic'] : ['answered', 'near'];
  return situations.flatMap((situation) => {
    const kept = (id: string) => !hidden.has(Number(id)) && (situation === 'answered' || !wanted.has(Number(id)));
    const ownSample = compared.filter(({ documentId }) => kept(documentId));
    const background = kind === 'semantic' ? backgroundOf(ownSample, SEMANTIC_ID) : null;
    const given = { terms, language, alternatives, sample: ownSample, background, words };
    return MODES[kind].flatMap((mode) => {
      const rankings = {
        keyword: mode === 'vector' ? [] : found.filter(({ id }) => kept(id)),
        vector: mode === 'keyword' ? [] : nearest.filter(({ id }) => kept(id)),
        background: kind === 'semantic' ? meanCosineOf(ownSample) : null,
      };
      const fused = fuseRankings(rankings, fusionFor(kind === 'semantic' ? 'semantic' : 'lexical'), mode);
      return fused.slice(0, RESULTS).map(({ id }, rank) => {
        const at = Number(id);
        const features = featuresOf(texts[at]?.shown as string, cosines[at] as number, given);
        return { ...features, isRelevant: wanted.has(at), isFirst: rank === 0, mode, situation };
      });
    });
  });
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < INDEX_DIMENSIONS; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}
