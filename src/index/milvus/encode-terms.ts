import type { WeightedTerms } from '../../language/analyser.ts';
import { hashOf } from '../row-sample.ts';

/** Maximum length of a Milvus text field. */
export const TEXT_BYTES_MAX = 65_535;
/** Stand-in for the text of a chunk without terms, since full text may not be empty. No term encodes to it. */
export const NO_TERMS = 'z';
/** Resolution of term weights: a weight of 1 becomes this many repetitions, unless all weights are integers. */
const WEIGHT_PARTS = 10;

/**
 * Encode a term so that Milvus's `standard` tokenizer keeps it whole. That tokenizer splits at all characters except
 * letters and digits, and lowercases them. Every other character becomes `z` and its UTF-16 code in four hexadecimal
 * digits.
 */
export function encodeTerm(term: string): string {
  return term.replace(/[^0-9a-y]/g, (unit) => `z${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Encode the space-separated terms of a chunk. Drop the terms beyond Milvus's limit of 65,535 bytes, which only chunks
 * of more than a thousand tokens have.
 */
export function encodeTerms(tokens: string): string {
  if (tokens === '') return NO_TERMS;
  const encoded = tokens.split(' ').map(encodeTerm).join(' ');
  if (encoded.length <= TEXT_BYTES_MAX) return encoded;
  const end = encoded.lastIndexOf(' ', TEXT_BYTES_MAX);
  return end === -1 ? NO_TERMS : encoded.slice(0, end);
}

/** Decode the output of `encodeTerms`. */
export function decodeTerms(encoded: string): string {
  if (encoded === NO_TERMS) return '';
  return encoded.replace(/z([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Return the hashes of encoded terms, which sample comparison uses. */
export function hashesOf(encoded: string): Set<number> {
  return new Set(decodeTerms(encoded).split(' ').map(hashOf));
}

/** Query text, and the factor by which it inflates BM25 scores. */
export interface KeywordQuery {
  readonly text: string;
  readonly scale: number;
}

/**
 * Render query terms as text for Milvus to analyse. BM25 multiplies a term's score by its frequency in the query, so
 * repeat a term in proportion to its weight.
 */
export function writeQuery(groups: readonly WeightedTerms[]): KeywordQuery {
  const scale = groups.every(({ weight }) => Number.isInteger(weight)) ? 1 : WEIGHT_PARTS;
  const words = groups.flatMap(({ terms, weight }) => {
    const times = Math.max(1, Math.round(weight * scale));
    return terms.flatMap((term) => Array.from({ length: times }, () => encodeTerm(term)));
  });
  return { text: words.join(' '), scale };
}
