/**
 * `npm run eval -- relevance`: fit of the estimate of relevance to judged searches, and its reliability. A search has
 * answers in its bucket, or the answers were removed (near misses), or the bucket treats another subject (off topic).
 * Buckets have a whole set, or 32, 8 or 2 of its documents; 60 queries of a set are long; and natural questions ask for
 * texts of the demonstration corpus. The models are the built-in ones.
 */
import {
  COEFFICIENTS,
  type Coefficients,
  estimateRelevance,
  probabilityOf,
} from '../../../src/search/relevance/estimate.ts';
import { LEVELS } from '../../../src/search/relevance/schema.ts';
import { setsAtHand } from '../judged-data.ts';
import { fitCoefficients, type Weighed } from './fit.ts';
import type { Kind } from './judged-searches.ts';
import { type Judged, judgeNatural, judgeSet, openEmbedder } from './search-sets.ts';

/**
 * Coefficients to fit. Those of words alone had been fitted before searches for other subjects were judged; a new fit
 * would call far fewer of these `none`, so only the length was added.
 */
const FITTED: Readonly<Record<Kind, readonly (keyof Coefficients)[]>> = {
  words: ['long'],
  semantic: ['constant', 'coverage', 'excess', 'rows', 'long', 'longExcess'],
};
/** Weight of a search by its situation, and factor of first results: their level is that of the answer. */
const WEIGHTS = { answered: 2, near: 1, off_topic: 1 };
const FIRST_WEIGHT = 3;
/** Factor of natural questions, since those of the sets were written with the text in view and repeat its words. */
const NATURAL_WEIGHT = 3;

export async function evaluateRelevance(): Promise<void> {
  const sets = setsAtHand();
  if (sets.length === 0) {
    console.log('skipped: no judged sets were found');
    return;
  }
  for (const kind of ['words', 'semantic'] as const) {
    const embedder = openEmbedder(kind);
    const judged: Judged[] = [];
    for (const set of sets) judged.push(...(await judgeSet(set, kind, embedder)));
    judged.push(...(await judgeNatural(kind, embedder)));
    await embedder.close();
    const weighed = weigh(judged);
    console.log(`\n${kind}: fitted to all: ${JSON.stringify(refit(weighed, kind))}`);
    console.log('\nfitted without the set:');
    const coefficientsOf = leaveOneOut(weighed, kind);
    report(judged, (each) => probabilityOf(each, coefficientsOf(each.set)));
    console.log('\nas it is:');
    report(judged, (each) => estimateRelevance(each, kind === 'semantic' ? kind : null) ?? 0);
  }
}

type WeighedResult = Judged & Weighed;

/** Give each set, part, mode and situation the same weight. */
function weigh(judged: readonly Judged[]): WeighedResult[] {
  const groupOf = ({ set, part, mode, situation, isFirst }: Judged) => `${set} ${part} ${mode} ${situation} ${isFirst}`;
  const counts = new Map<string, number>();
  for (const each of judged) counts.set(groupOf(each), (counts.get(groupOf(each)) ?? 0) + 1);
  return judged.map((each) => ({
    ...each,
    weight: weightOf(each) / (counts.get(groupOf(each)) as number),
  }));
}

function weightOf({ situation, isFirst, part }: Judged): number {
  const isNatural = part === 'natural' || part === 'natural_tiny';
  return WEIGHTS[situation] * (isFirst ? FIRST_WEIGHT : 1) * (isNatural ? NATURAL_WEIGHT : 1);
}

function refit(judged: readonly Weighed[], kind: Kind): Coefficients {
  return fitCoefficients(judged, COEFFICIENTS[kind], FITTED[kind]);
}

/** Fit without each family of sets. Sets of a family have the same texts in several languages. */
function leaveOneOut(judged: readonly WeighedResult[], kind: Kind): (set: string) => Coefficients {
  const byFamily = new Map<string, Coefficients>();
  for (const family of new Set(judged.map(({ set }) => familyOf(set)))) {
    const others = judged.filter(({ set }) => familyOf(set) !== family);
    byFamily.set(family, refit(others, kind));
  }
  return (set) => byFamily.get(familyOf(set)) as Coefficients;
}

function familyOf(set: string): string {
  return set.split('-')[0] as string;
}

/** Print the reliability of the estimate of first results of hybrid searches, by set and part. */
function report(judged: readonly Judged[], estimate: (each: Judged) => number): void {
  console.log('                          AUC          error  right first results       near misses  off topic');
  console.log('set        part           near   off          none   medium or high     medium or high     none');
  const firsts = judged.filter(({ isFirst, mode }) => isFirst && mode === 'hybrid');
  for (const [name, group] of Map.groupBy(firsts, ({ set, part }) => `${set.padEnd(10)} ${part.padEnd(12)}`)) {
    const scored = group.map((each) => ({ ...each, score: Math.round(estimate(each) * 100) / 100 }));
    const right = scored.filter(({ isRelevant }) => isRelevant);
    const near = scored.filter(({ situation }) => situation === 'near');
    const off = scored.filter(({ situation }) => situation === 'off_topic');
    console.log(
      ...[name, areaUnderCurve(right, near), areaUnderCurve(right, off), calibrationError(scored)],
      ...[' ', shareBelow(right, 'low'), '  ', shareFrom(right, 'medium'), '             '],
      ...[shareFrom(near, 'medium'), '     ', shareFrom(off, 'medium'), shareBelow(off, 'low')],
    );
  }
}

interface Scored {
  readonly score: number;
  readonly isRelevant: boolean;
}

/** Compute the probability that one of the first list has a higher score than one of the second. */
function areaUnderCurve(higher: readonly Scored[], lower: readonly Scored[]): string {
  if (higher.length === 0 || lower.length === 0) return '    -';
  let wins = 0;
  for (const { score } of higher) {
    for (const other of lower) wins += score > other.score ? 1 : score === other.score ? 0.5 : 0;
  }
  return (wins / (higher.length * lower.length)).toFixed(2).padStart(5);
}

/** Compute the expected calibration error in ten bins (Guo et al., ICML 2017). */
function calibrationError(scored: readonly Scored[]): string {
  const bins = Map.groupBy(scored, ({ score }) => Math.min(9, Math.floor(score * 10)));
  let error = 0;
  for (const bin of bins.values()) {
    const estimated = bin.reduce((sum, { score }) => sum + score, 0);
    error += Math.abs(estimated - bin.filter(({ isRelevant }) => isRelevant).length);
  }
  return (error / scored.length).toFixed(2).padStart(6);
}

function minOf(level: string): number {
  return LEVELS.find(({ relevance }) => relevance === level)?.min as number;
}

function shareFrom(scored: readonly Scored[], level: string): string {
  return percent(scored.filter(({ score }) => score >= minOf(level)).length, scored.length);
}

function shareBelow(scored: readonly Scored[], level: string): string {
  return percent(scored.filter(({ score }) => score < minOf(level)).length, scored.length);
}

function percent(part: number, whole: number): string {
  return (whole === 0 ? '-' : `${Math.round((100 * part) / whole)} %`).padStart(5);
}
