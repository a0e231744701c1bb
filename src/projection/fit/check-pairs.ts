import { createHash } from 'node:crypto';
import { type AppError, invalidRequest } from '../../platform/errors.ts';
import { meanOfRows, normaliseRows } from './rows.ts';

/** Minimum number of pairs, unless fewer are explicitly allowed. */
export const PAIRS_MIN = 500;
/** Absolute minimum number of pairs. With fewer, none could be held out. */
export const PAIRS_FLOOR = 20;
/** Minimum variance as a share of the squared length. Below it, vectors differ only by rounding. */
const VARIANCE_MIN = 1e-6;

export interface CheckedPairs {
  /** Indices of the pairs to use, ascending. */
  readonly kept: Int32Array;
  /** Number of pairs dropped because their text, or both of their vectors, repeat an earlier pair. */
  readonly duplicates: number;
  /** Messages for the operator. */
  readonly warnings: readonly string[];
}

/**
 * Choose the texts of a corpus to embed, before any paid call. Omit blank texts, and repeats that differ only in
 * whitespace or Unicode form.
 *
 * @returns indices, ascending
 * @throws AppError `too_few_pairs`
 */
export function checkCorpus(texts: readonly string[], { allowFewPairs = false } = {}): CheckedPairs {
  const seen = new Set<string>();
  const kept: number[] = [];
  for (let i = 0; i < texts.length; i++) {
    const key = (texts[i] as string).normalize('NFC').replaceAll(/\s+/g, ' ').trim();
    if (key === '' || seen.has(key)) continue;
    seen.add(key);
    kept.push(i);
  }
  refuseFew(kept.length, texts.length, allowFewPairs, 'the others are duplicates or blank');
  return { kept: Int32Array.from(kept), duplicates: texts.length - kept.length, warnings: [] };
}

/**
 * Check that a map can be fitted on these pairs, and choose the pairs to use.
 *
 * @param vectors Float32Array [n x nativeDimension]: the model's vectors
 * @param canonical Float32Array [n x rank]: canonical vectors of the same texts. For the reference model itself, its
 *   own vectors again
 * @throws AppError `pairs_mismatch`, `vector_not_finite`, `zero_vector`, `vectors_not_distinct`, `too_few_pairs` (all
 *   400)
 */
export function checkPairs({
  vectors,
  nativeDimension,
  canonical,
  rank,
  allowFewPairs = false,
}: {
  readonly vectors: Float32Array;
  readonly nativeDimension: number;
  readonly canonical: Float32Array;
  readonly rank: number;
  readonly allowFewPairs?: boolean;
}): CheckedPairs {
  const pairs = vectors.length / nativeDimension;
  if (!Number.isInteger(pairs) || pairs * rank !== canonical.length) {
    throw invalidRequest(
      `the model's vectors (${vectors.length} numbers, ${nativeDimension} dimensions) do not match the canonical ones ` +
        `(${canonical.length} numbers, ${rank} dimensions); check the model's native dimension in the catalog and embed ` +
        'the corpus again',
      null,
      'pairs_mismatch',
    );
  }
  checkRows(vectors, nativeDimension, "the model's");
  checkRows(canonical, rank, 'the canonical');
  const kept = distinctRows(vectors, nativeDimension, canonical, rank);
  refuseFew(kept.length, pairs, allowFewPairs, 'the vectors of the others repeat those of these');
  refuseCollapsed(vectors, nativeDimension, "the model's");
  refuseCollapsed(canonical, rank, 'the canonical');
  return { kept, duplicates: pairs - kept.length, warnings: warningsFor(kept.length, nativeDimension) };
}

function refuseFew(distinct: number, given: number, allowFewPairs: boolean, why: string): void {
  const needed = allowFewPairs ? PAIRS_FLOOR : PAIRS_MIN;
  if (distinct >= needed) return;
  const repeated = distinct < given ? ` (${given} were given, ${why})` : '';
  const next = allowFewPairs
    ? 'add texts to the corpus'
    : 'add texts to the corpus, leave --corpus out to use the built-in one, or pass --allow-few-pairs';
  throw tooFew(`a map needs at least ${needed} different texts, and there are ${distinct}${repeated}; ${next}`);
}

function tooFew(message: string): AppError {
  return invalidRequest(message, null, 'too_few_pairs');
}

function checkRows(vectors: Float32Array, columns: number, whose: string): void {
  for (let row = 0; row * columns < vectors.length; row++) {
    let squares = 0;
    for (let i = row * columns; i < (row + 1) * columns; i++) {
      const value = vectors[i] as number;
      if (!Number.isFinite(value)) {
        throw invalidRequest(
          `${whose} vector of text ${row} (from 0) contains ${value}; embed the corpus again, and leave that text out if ` +
            'it stays',
          null,
          'vector_not_finite',
        );
      }
      squares += value * value;
    }
    if (squares === 0) {
      throw invalidRequest(
        `${whose} vector of text ${row} (from 0) is all zeros; leave that text out of the corpus`,
        null,
        'zero_vector',
      );
    }
  }
}

/** Return pairs that differ in at least one vector. A repeated pair could be both fitted and held out. */
function distinctRows(vectors: Float32Array, columns: number, canonical: Float32Array, rank: number): Int32Array {
  const seen = new Set<string>();
  const kept: number[] = [];
  const bytesOf = (array: Float32Array, row: number, width: number) =>
    new Uint8Array(array.buffer, array.byteOffset + row * width * 4, width * 4);
  for (let row = 0; row * columns < vectors.length; row++) {
    const hash = createHash('sha256')
      .update(bytesOf(vectors, row, columns))
      .update(bytesOf(canonical, row, rank));
    const key = hash.digest('base64');
    if (seen.has(key)) continue;
    seen.add(key);
    kept.push(row);
  }
  return Int32Array.from(kept);
}

/** Refuse vectors that are nearly equal for all texts, since the model is probably broken. */
function refuseCollapsed(vectors: Float32Array, columns: number, whose: string): void {
  const mean = meanOfRows(normaliseRows(vectors, columns), columns);
  const variance = 1 - mean.reduce((sum, value) => sum + value * value, 0);
  if (variance >= VARIANCE_MIN) return;
  throw invalidRequest(
    `${whose} vectors hardly differ from text to text (variance ${variance.toExponential(1)} of their length); check ` +
      'that the model answers different texts differently, then fit again',
    null,
    'vectors_not_distinct',
  );
}

function warningsFor(pairs: number, nativeDimension: number): string[] {
  const advised = Math.max(1000, 2 * nativeDimension);
  if (pairs >= advised) return [];
  return [
    `${pairs} pairs are few for ${nativeDimension} dimensions; at least ${advised} are advised, from the domain that ` +
      'will be searched',
  ];
}
