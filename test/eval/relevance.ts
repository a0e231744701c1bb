/**
 * `npm run eval -- relevance`: fit of the estimate of relevance to judged results, and its calibration. Every query is
 * searched in a bucket with its answers, and in the same bucket after they are removed, where every result is wrong.
 * Each set is searched as one bucket, and as buckets of 32 documents. The estimate is fitted to two sets; the others
 * show whether it means the same in other languages. The built-in model is the real one; the model with meaning is a
 * substitute (`synthetic-model.ts`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { hashOf, RowSample } from '../../src/index/lance/row-sample.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { BestRows } from '../../src/resident/best-rows.ts';
import { KeywordRows } from '../../src/resident/keywords/keyword-rows.ts';
import { fuseRankings, fusionFor } from '../../src/search/fuse.ts';
import { backgroundOf } from '../../src/search/relevance/background.ts';
import { COEFFICIENTS, type Coefficients, probabilityOf } from '../../src/search/relevance/estimate.ts';
import { featuresOf } from '../../src/search/relevance/judge.ts';
import { LEVELS } from '../../src/search/relevance/schema.ts';
import { openSyntheticModel } from './synthetic-model.ts';

const DATA = new URL('../../../shared/data/retrieval/', import.meta.url);
const FITTED_SETS = ['cranfield', 'korquad-a'];
const OTHER_SETS = ['cosqa-3000', 'jaquad', 'xquad-de', 'xquad-ru', 'xquad-th'];
const QUERIES_MAX = 120;
const SMALL_BUCKET = 32;
const SAMPLE = 128;
const DEPTH = 60;
const RESULTS = 10;
const STEPS = 4_000;
const RATE = 0.5;

type Kind = 'words' | 'semantic';
type Mode = 'keyword' | 'vector' | 'hybrid';
interface Judged {
  readonly coverage: number;
  readonly distance: number | null;
  readonly isRelevant: boolean;
  readonly isFirst: boolean;
  /** True if the answers of the query were removed. */
  readonly isBarren: boolean;
  readonly set: string;
  readonly mode: Mode;
  readonly isSmall: boolean;
}

const meaning = openSyntheticModel({
  ...{ name: 'relevance-1024', dimensions: INDEX_DIMENSIONS, seed: 404 },
  ...{ ownShare: 0.6, offset: 1, nonlinearity: 1 },
});
const MODELS = {
  words: { queries: embedLexical, passages: embedLexicalPassages },
  semantic: { queries: unitRows(meaning), passages: unitRows(meaning) },
};
/** Modes in which the estimate of a kind is used: without a vector, only words count. */
const MODES: Record<Kind, readonly Mode[]> = { words: ['keyword', 'vector', 'hybrid'], semantic: ['vector', 'hybrid'] };

export async function evaluateRelevance(): Promise<void> {
  if (!FITTED_SETS.every(isThere)) {
    console.log('skipped: the directory ../shared/data/retrieval is missing');
    return;
  }
  for (const kind of ['words', 'semantic'] as const) {
    const judged = FITTED_SETS.flatMap((set) => judgeSet(set, kind));
    const fitted = fitCoefficients(judged, kind);
    console.log(`\n${kind}: fitted ${JSON.stringify(fitted)} to ${judged.length} results`);
    reportLevels(judged, fitted);
    const others = OTHER_SETS.filter(isThere).flatMap((set) => judgeSet(set, kind));
    reportCalibration([...judged, ...others], COEFFICIENTS[kind]);
  }
}

function isThere(set: string): boolean {
  return existsSync(new URL(`${set}/docs.jsonl`, DATA));
}

/** Print the share of results at each level that are relevant, and the levels of first results. */
function reportLevels(judged: readonly Judged[], own: Coefficients): void {
  const levelOf = (each: Judged) => LEVELS.find(({ min }) => probabilityOf(each, own) >= min)?.relevance;
  for (const set of FITTED_SETS) {
    const ofSet = judged.filter((each) => each.set === set && !each.isSmall && each.mode === 'hybrid');
    const firsts = ofSet.filter(({ isFirst }) => isFirst);
    console.log(
      `${set.padEnd(10)} level   results  relevant  of right first results  of first results without an answer`,
    );
    for (const { relevance } of LEVELS) {
      const at = (list: readonly Judged[]) => list.filter((each) => levelOf(each) === relevance);
      const right = firsts.filter(({ isRelevant }) => isRelevant);
      const barren = firsts.filter(({ isBarren }) => isBarren);
      console.log(
        `           ${relevance.padEnd(6)} ${String(at(ofSet).length).padStart(8)}`,
        ` ${percent(at(ofSet).filter(({ isRelevant }) => isRelevant).length, at(ofSet).length)}`,
        `   ${percent(at(right).length, right.length)}                  ${percent(at(barren).length, barren.length)}`,
      );
    }
  }
}

/**
 * Print, for each set, mode and size of the bucket, the mean estimate of first results beside the share of them that
 * are answers, and the expected calibration error in ten bins (Guo et al., ICML 2017).
 */
function reportCalibration(judged: readonly Judged[], own: Coefficients): void {
  console.log('set        bucket mode     firsts  estimated  relevant  calibration error');
  const groups = Map.groupBy(judged, ({ set, isSmall, mode }) => `${set} ${isSmall ? 'small' : 'whole'} ${mode}`);
  for (const [name, group] of groups) {
    const [set = '', size = '', mode = ''] = name.split(' ');
    const firsts = group.filter(({ isFirst }) => isFirst);
    const estimated = firsts.reduce((sum, each) => sum + probabilityOf(each, own), 0);
    const relevant = firsts.filter(({ isRelevant }) => isRelevant).length;
    console.log(
      `${set.padEnd(10)} ${size}  ${mode.padEnd(8)} ${String(firsts.length).padStart(6)}`,
      `    ${percent(estimated, firsts.length)}     ${percent(relevant, firsts.length)}`,
      `  ${calibrationError(firsts, own).toFixed(3)}`,
    );
  }
}

function calibrationError(judged: readonly Judged[], own: Coefficients): number {
  const bins = Map.groupBy(judged, (each) => Math.min(9, Math.floor(probabilityOf(each, own) * 10)));
  let error = 0;
  for (const bin of bins.values()) {
    const estimated = bin.reduce((sum, each) => sum + probabilityOf(each, own), 0);
    error += Math.abs(estimated - bin.filter(({ isRelevant }) => isRelevant).length);
  }
  return error / judged.length;
}

function percent(part: number, whole: number): string {
  return `${Math.round((100 * part) / Math.max(1, whole))} %`.padStart(5);
}

/** Documents of a set with their vectors, terms and postings. */
function openBucket(texts: readonly string[], vectors: Float32Array) {
  const rowOf = (at: number) => vectors.subarray(at * INDEX_DIMENSIONS, (at + 1) * INDEX_DIMENSIONS);
  const terms = texts.map((text) => analyse(text));
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

function judgeSet(set: string, kind: Kind): Judged[] {
  const documents = readLines<{ id: string; title: string; text: string }>(set, 'docs.jsonl');
  const texts = documents.map(({ title, text }) => `${title}\n\n${text}`);
  const vectors = MODELS[kind].passages(texts);
  const relevant = readRelevant(set);
  const queries = readLines<{ id: string; text: string }>(set, 'queries.jsonl').filter(({ id }) => relevant.has(id));
  const step = Math.max(1, Math.floor(queries.length / QUERIES_MAX));
  const asked = queries.filter((_, nth) => nth % step === 0);
  const judged: Judged[] = [];
  for (const size of [texts.length, SMALL_BUCKET]) {
    for (let from = 0; from + size <= texts.length; from += size) {
      const own = documents.slice(from, from + size);
      const bucket = openBucket(texts.slice(from, from + size), vectors.slice(from * INDEX_DIMENSIONS));
      for (const { id, text } of asked) {
        const wanted = new Set(own.flatMap((each, row) => (relevant.get(id)?.has(each.id) ? [row] : [])));
        if (wanted.size === 0) continue;
        for (const mode of MODES[kind]) {
          const found = judgeQuery(bucket, text, { kind, mode, wanted });
          judged.push(...found.map((each) => ({ ...each, set, mode, isSmall: size === SMALL_BUCKET })));
        }
      }
    }
  }
  return judged;
}

/** Search a bucket for a query twice, the second time without its answers. */
function judgeQuery(
  { texts, rowOf, keywords, sample }: ReturnType<typeof openBucket>,
  query: string,
  { kind, mode, wanted }: { readonly kind: Kind; readonly mode: Mode; readonly wanted: ReadonlySet<number> },
): Omit<Judged, 'set' | 'mode' | 'isSmall'>[] {
  const terms = analyse(query);
  const vector = MODELS[kind].queries([query]);
  const best = new BestRows(DEPTH + wanted.size, (row) => String(row));
  keywords.search(weighTerms(terms), null, { best, first: 0 });
  const found = best.toSorted().map(({ row, score }) => ({ id: String(row), score }));
  const cosines = texts.map((_, at) => dot(vector, rowOf(at)));
  const byCosine = cosines.map((_, at) => at).sort((a, b) => (cosines[b] as number) - (cosines[a] as number));
  const nearest = byCosine
    .slice(0, DEPTH + wanted.size)
    .map((row) => ({ id: String(row), score: cosines[row] as number }));
  const compared = sample.compare({ vector: kind === 'semantic' ? vector : null, terms });
  const given = { terms, alternatives: [], sample: compared };
  const background = kind === 'semantic' ? backgroundOf(compared) : null;
  return [false, true].flatMap((isBarren) => {
    const kept = (name: string) => !isBarren || !wanted.has(Number(name));
    const rankings = {
      keyword: mode === 'vector' ? [] : found.filter(({ id }) => kept(id)),
      vector: mode === 'keyword' ? [] : nearest.filter(({ id }) => kept(id)),
      background: background?.mean ?? null,
    };
    const fused = fuseRankings(rankings, fusionFor(kind === 'semantic' ? 'semantic' : 'lexical'), mode);
    return fused.slice(0, RESULTS).map(({ id }, rank) => {
      const at = Number(id);
      const features = featuresOf(texts[at] as string, cosines[at] as number, { ...given, background });
      return { ...features, isRelevant: wanted.has(at), isFirst: rank === 0, isBarren };
    });
  });
}

/**
 * Fit a logistic regression by gradient descent. Sets, modes, sizes of buckets, and first and later results weigh the
 * same.
 */
function fitCoefficients(judged: readonly Judged[], kind: Kind): Coefficients {
  const counts = new Map<string, number>();
  const groupOf = ({ set, isFirst, mode, isSmall }: Judged) => `${set} ${isFirst} ${mode} ${isSmall}`;
  for (const each of judged) counts.set(groupOf(each), (counts.get(groupOf(each)) ?? 0) + 1);
  const weights = judged.map((each) => 1 / ((counts.get(groupOf(each)) as number) * counts.size));
  let own: Coefficients = { constant: 0, coverage: 0, distance: 0 };
  for (let step = 0; step < STEPS; step++) {
    const slope = { constant: 0, coverage: 0, distance: 0 };
    for (const [at, each] of judged.entries()) {
      const error = (weights[at] as number) * (probabilityOf(each, own) - (each.isRelevant ? 1 : 0));
      slope.constant += error;
      slope.coverage += error * each.coverage;
      slope.distance += (error * (each.distance ?? 0)) / 10;
    }
    own = {
      constant: own.constant - RATE * slope.constant,
      coverage: own.coverage - RATE * slope.coverage,
      // The distance is some ten times as large as the coverage.
      distance: kind === 'words' ? 0 : own.distance - (RATE * slope.distance) / 10,
    };
  }
  const round = (value: number) => Math.round(value * 100) / 100;
  return { constant: round(own.constant), coverage: round(own.coverage), distance: round(own.distance) };
}

function unitRows(embed: (texts: readonly string[]) => Float32Array): (texts: readonly string[]) => Float32Array {
  return (texts) => {
    const vectors = embed(texts);
    for (let from = 0; from < vectors.length; from += INDEX_DIMENSIONS) {
      const row = vectors.subarray(from, from + INDEX_DIMENSIONS);
      const length = Math.sqrt(dot(row, row)) || 1;
      for (let at = 0; at < row.length; at++) row[at] = (row[at] as number) / length;
    }
    return vectors;
  };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < INDEX_DIMENSIONS; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}

function readRelevant(set: string): Map<string, Set<string>> {
  const relevant = new Map<string, Set<string>>();
  for (const line of readFileSync(new URL(`${set}/qrels.tsv`, DATA), 'utf8').split('\n')) {
    const [query, document, gain] = line.split('\t');
    if (!query || !document || Number(gain) <= 0) continue;
    relevant.set(query, (relevant.get(query) ?? new Set<string>()).add(document));
  }
  return relevant;
}

function readLines<T>(set: string, file: string): T[] {
  const lines = readFileSync(new URL(`${set}/${file}`, DATA), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
}
