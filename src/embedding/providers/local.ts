/**
 * Embedder of `local/lexical-1`, the model that needs no key and no network. It hashes terms and their character
 * n-grams with signs (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009) into 1,024
 * dimensions. It matches words, not meanings. A text has the same vector on every machine and in every version, because
 * the arithmetic uses only integers, +, *, / and the correctly rounded square root. Every change that alters a vector
 * needs a new model id.
 */
import { isCommonTerm } from '../../language/common-terms.ts';
import { termsOf } from '../../language/words.ts';

export const LEXICAL_DIMENSIONS = 1024;
/** Features share all dimensions except the last, which only passages use. */
const FEATURE_DIMENSIONS = LEXICAL_DIMENSIONS - 1;
/**
 * Squared weight of a passage's last dimension, in units of a term with one occurrence. Unit vectors of short texts
 * give a high weight to each of their few words. This dimension, empty in queries, removes that advantage of short
 * passages (pivoted length normalisation, Singhal et al., SIGIR 1996).
 */
const PASSAGE_MASS = 20;

/** Dimensions of each term, so that one collision spoils only part of it. */
const COPIES = 3;
const GRAM_LENGTHS = [3, 4];
/** Total weight of a term's n-grams of one length, relative to the term itself. */
const GRAM_WEIGHT = 0.5;
const COMMON_WORD_WEIGHT = 0.6;
/**
 * Decay of the position weight, since texts begin with the most important: factor 2 for the first term, 1.5 for the
 * eleventh.
 */
const LEAD_TERMS = 10;
/** Position weights are sixteenths, which keeps their sums exact. */
const SIXTEENTHS = 16;
/**
 * First code unit of the scripts whose terms are already n-grams: Thai and the scripts east of it, Hangul, Han, kana.
 */
const DENSE_SCRIPTS_FROM = 0x0e00;

const COPY_SEEDS = Array.from({ length: COPIES }, (_, copy) => 0x9747b28c + copy);
const GRAM_SEED = 0x3c6ef372;
const SYMBOL_SEED = 0x510e527f;

const CACHED_TERMS_MAX = 16_384;

const SQRT_COPIES = Math.sqrt(COPIES);

/** Dimensions and weights of one term, for a term frequency of 1. */
interface Feature {
  readonly dimensions: Uint16Array;
  readonly weights: Float64Array;
}

const cachedFeatures = new Map<string, Feature>();

/**
 * Embed queries, or texts to compare with each other.
 *
 * A text without terms (only punctuation or stop words) is embedded by its characters, and the empty text by a fixed
 * vector. Every row is a unit vector.
 *
 * @returns Float32Array [texts x 1024], row-major, rows L2-normalised
 */
export function embedLexical(texts: readonly string[]): Float32Array {
  return embedAll(texts, 0);
}

/** Embed passages for queries of {@link embedLexical}: like `embedLexical`, with a correction for short passages. */
export function embedLexicalPassages(texts: readonly string[]): Float32Array {
  return embedAll(texts, PASSAGE_MASS);
}

/** Sums of the features of one text. The next text reuses the memory. */
const sums = new Float64Array(LEXICAL_DIMENSIONS);

function embedAll(texts: readonly string[], mass: number): Float32Array {
  const vectors = new Float32Array(texts.length * LEXICAL_DIMENSIONS);
  texts.forEach((text, row) => {
    sums.fill(0);
    addText(sums, text);
    let squares = squareSum(sums);
    if (squares === 0) {
      addSymbols(sums, text);
      squares = squareSum(sums);
    }
    if (mass > 0) {
      sums[FEATURE_DIMENSIONS] = Math.sqrt(mass);
      squares += mass;
    }
    const scale = 1 / Math.sqrt(squares);
    const offset = row * LEXICAL_DIMENSIONS;
    for (let i = 0; i < LEXICAL_DIMENSIONS; i++) vectors[offset + i] = (sums[i] as number) * scale;
  });
  return vectors;
}

function addText(sums: Float64Array, text: string): void {
  const counts = new Map<string, number>();
  let position = 0;
  for (const term of termsOf(text)) {
    const lead = Math.round(SIXTEENTHS / (1 + position / LEAD_TERMS)) / SIXTEENTHS;
    counts.set(term, (counts.get(term) ?? 0) + 1 + lead);
    position++;
  }
  for (const [term, count] of counts) {
    const { dimensions, weights } = featureOf(term);
    const frequency = dampen(count);
    for (let i = 0; i < dimensions.length; i++) {
      const dimension = dimensions[i] as number;
      sums[dimension] = (sums[dimension] as number) + (weights[i] as number) * frequency;
    }
  }
}

/** Add the characters of a text without terms. All weights have the same sign, so that none cancel out. */
function addSymbols(sums: Float64Array, text: string): void {
  const symbols = text.trim();
  for (const symbol of symbols === '' ? [''] : symbols) {
    const dimension = hash32(symbol, SYMBOL_SEED) % FEATURE_DIMENSIONS;
    sums[dimension] = (sums[dimension] as number) + 1;
  }
}

function squareSum(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}

/** Approximate 1 + ln(count), linearly between powers of two, since `Math.log` differs between engines. */
function dampen(count: number): number {
  let power = 1;
  let exponent = 0;
  while (power * 2 <= count) {
    power *= 2;
    exponent++;
  }
  return 1 + Math.LN2 * (exponent + count / power - 1);
}

function featureOf(term: string): Feature {
  const known = cachedFeatures.get(term);
  if (known) return known;
  const feature = buildFeature(term);
  if (cachedFeatures.size >= CACHED_TERMS_MAX) cachedFeatures.clear();
  cachedFeatures.set(term, feature);
  return feature;
}

function buildFeature(term: string): Feature {
  const dimensions: number[] = [];
  const weights: number[] = [];
  const add = (hash: number, weight: number) => {
    dimensions.push(hash % FEATURE_DIMENSIONS);
    weights.push(hash >>> 31 === 1 ? -weight : weight);
  };
  const weight = isCommonTerm(term) ? COMMON_WORD_WEIGHT : 1;
  for (const seed of COPY_SEEDS) add(hash32(term, seed), weight / SQRT_COPIES);
  if (term.length > 2 && term.charCodeAt(0) < DENSE_SCRIPTS_FROM && !/\p{N}/u.test(term)) {
    const bounded = `<${term}>`;
    for (const length of GRAM_LENGTHS) {
      const grams = bounded.length - length + 1;
      for (let i = 0; i < grams; i++) {
        add(hash32(bounded.slice(i, i + length), GRAM_SEED), (GRAM_WEIGHT * weight) / Math.sqrt(grams));
      }
    }
  }
  return { dimensions: Uint16Array.from(dimensions), weights: Float64Array.from(weights) };
}

/**
 * Compute MurmurHash3_x86_32 (Austin Appleby, public domain; https://github.com/aappleby/smhasher), with one block for
 * each UTF-16 code unit, in 32-bit integer arithmetic.
 */
function hash32(text: string, seed: number): number {
  let hash = seed | 0;
  for (let i = 0; i < text.length; i++) {
    let block = Math.imul(text.charCodeAt(i), 0xcc9e2d51);
    block = (block << 15) | (block >>> 17);
    hash ^= Math.imul(block, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash ^= text.length * 4;
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
