/**
 * `npm run eval -- relevance`: fit of the estimate of relevance to judged results, and its reliability. Every query is
 * searched among all documents of its set, and again after its answers are removed, where every result is wrong. The
 * built-in model is the real one; the model with meaning is a substitute (`synthetic-model.ts`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { hashOf, RowSample, type SampledRow } from '../../src/index/lance/row-sample.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { BestRows } from '../../src/resident/best-rows.ts';
import { KeywordRows } from '../../src/resident/keywords/keyword-rows.ts';
import { fuseRankings, fusionFor } from '../../src/search/fuse.ts';
import { backgroundOf } from '../../src/search/relevance/background.ts';
import { type Coefficients, LEVELS, probabilityOf } from '../../src/search/relevance/estimate.ts';
import { featuresOf, USUAL_BACKGROUND } from '../../src/search/relevance/judge.ts';
import { openSyntheticModel } from './synthetic-model.ts';

const DATA = new URL('../../../shared/data/retrieval/', import.meta.url);
const SETS = ['cranfield', 'korquad-a'] as const;
const KINDS = ['lexical', 'semantic', 'keyword'] as const;
const SAMPLE = 128;
const DEPTH = 60;
const RESULTS = 10;
const STEPS = 4_000;
const RATE = 0.5;

type Kind = (typeof KINDS)[number];
interface Judged {
  readonly coverage: number;
  readonly distance: number | null;
  readonly isRelevant: boolean;
  readonly isFirst: boolean;
  /** True if the answers of the query were removed. */
  readonly isBarren: boolean;
  readonly set: string;
}

const meaning = openSyntheticModel({
  ...{ name: 'relevance-1024', dimensions: INDEX_DIMENSIONS, seed: 404 },
  ...{ ownShare: 0.6, offset: 1, nonlinearity: 1 },
});
const MODELS = {
  lexical: { queries: embedLexical, passages: embedLexicalPassages },
  semantic: { queries: unitRows(meaning), passages: unitRows(meaning) },
};

export async function evaluateRelevance(): Promise<void> {
  if (!SETS.every((set) => existsSync(new URL(`${set}/docs.jsonl`, DATA)))) {
    console.log('skipped: the directory ../shared/data/retrieval is missing');
    return;
  }
  for (const kind of KINDS) {
    const judged = SETS.flatMap((set) => judgeSet(set, kind));
    const own = fitCoefficients(judged, kind);
    console.log(`\n${kind}: ${JSON.stringify(own)} from ${judged.length} results`);
    for (const set of SETS)
      report(
        set,
        own,
        judged.filter((each) => each.set === set),
      );
  }
}

/** Print the share of results at each level that are relevant, and the levels of first results. */
function report(set: string, own: Coefficients, judged: readonly Judged[]): void {
  const levelOf = (each: Judged) => LEVELS.find(({ min }) => probabilityOf(each, own) >= min)?.relevance;
  const percent = (part: number, whole: number) => `${Math.round((100 * part) / Math.max(1, whole))} %`.padStart(5);
  const firsts = judged.filter(({ isFirst }) => isFirst);
  const right = firsts.filter(({ isRelevant }) => isRelevant);
  const barren = firsts.filter(({ isBarren }) => isBarren);
  console.log(
    `${set.padEnd(10)} level   results  relevant  of right first results  of first results without an answer`,
  );
  for (const { relevance } of LEVELS) {
    const at = (list: readonly Judged[]) => list.filter((each) => levelOf(each) === relevance);
    const own = at(judged);
    console.log(
      `           ${String(relevance).padEnd(6)} ${String(own.length).padStart(8)}`,
      ` ${percent(own.filter(({ isRelevant }) => isRelevant).length, own.length)}`,
      `   ${percent(at(right).length, right.length)}                  ${percent(at(barren).length, barren.length)}`,
    );
  }
}

function judgeSet(set: string, kind: Kind): Judged[] {
  const documents = readLines<{ id: string; title: string; text: string }>(set, 'docs.jsonl');
  const texts = documents.map(({ title, text }) => `${title}\n\n${text}`);
  const model = MODELS[kind === 'semantic' ? 'semantic' : 'lexical'];
  const vectors = model.passages(texts);
  const rowOf = (at: number) => vectors.subarray(at * INDEX_DIMENSIONS, (at + 1) * INDEX_DIMENSIONS);
  const keywords = new KeywordRows();
  const termsOf = texts.map((text) => analyse(text));
  for (const terms of termsOf) {
    const bytes = new TextEncoder().encode(terms.join(' '));
    keywords.add(bytes, 0, bytes.length);
  }
  const sampled = Array.from({ length: SAMPLE }, (_, nth): SampledRow => {
    const at = Math.floor(((nth + 0.5) * documents.length) / SAMPLE);
    return { documentId: String(at), vector: rowOf(at), terms: new Set((termsOf[at] ?? []).map(hashOf)) };
  });
  const sample = new RowSample(sampled);
  const relevant = readRelevant(set);
  const judged: Judged[] = [];
  for (const { id, text } of readLines<{ id: string; text: string }>(set, 'queries.jsonl')) {
    const wanted = relevant.get(id);
    if (wanted === undefined) continue;
    const terms = analyse(text);
    const vector = model.queries([text]);
    const best = new BestRows(DEPTH + wanted.size, (row) => String(row));
    keywords.search(weighTerms(terms), null, { best, first: 0 });
    const cosines = documents.map((_, at) => dot(vector, rowOf(at)));
    const byCosine = cosines.map((_, at) => at).sort((a, b) => (cosines[b] as number) - (cosines[a] as number));
    const nearest = byCosine.slice(0, DEPTH + wanted.size).map((row) => String(row));
    const found = best.toSorted().map(({ row, score }) => ({ id: String(row), score }));
    const usual = kind === 'semantic' ? null : USUAL_BACKGROUND;
    const compared = sample.compare({ vector, terms });
    const background = kind === 'keyword' ? null : backgroundOf(compared, usual);
    for (const isBarren of [false, true]) {
      const kept = (name: string) => !isBarren || !wanted.has((documents[Number(name)] as { id: string }).id);
      const rankings = {
        keyword: found.filter(({ id }) => kept(id)),
        vector: kind === 'keyword' ? [] : nearest.filter(kept),
      };
      const fusion = fusionFor(kind === 'semantic' ? 'semantic' : 'lexical');
      const fused = fuseRankings(rankings, fusion, kind === 'keyword' ? 'keyword' : 'hybrid').slice(0, RESULTS);
      for (const [rank, hit] of fused.entries()) {
        const at = Number(hit.id);
        const given = { terms, alternatives: [], sample: compared, background };
        const features = featuresOf(texts[at] as string, cosines[at] as number, given);
        const isRelevant = wanted.has((documents[at] as { id: string }).id);
        judged.push({ ...features, isRelevant, isFirst: rank === 0, isBarren, set });
      }
    }
  }
  return judged;
}

/** Fit a logistic regression by gradient descent. Both sets, and first and later results, weigh the same. */
function fitCoefficients(judged: readonly Judged[], kind: Kind): Coefficients {
  const counts = new Map<string, number>();
  const groupOf = ({ set, isFirst }: Judged) => `${set} ${isFirst}`;
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
      distance: kind === 'keyword' ? 0 : own.distance - (RATE * slope.distance) / 10,
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
