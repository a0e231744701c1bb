import type { WeightedTerms } from '../../language/analyser.ts';
import { hashOf } from '../row-sample.ts';

/** Maximum length of a text field of Milvus. */
export const TEXT_BYTES_MAX = 65_535;
/** Code of a chunk without terms, which no term has: full text of a collection may not be empty. */
export const NO_TERMS = 'z';
/** Weights of terms are multiples of this part. */
const WEIGHT_PARTS = 10;

/**
 * Encode a term so that the `standard` tokenizer of Milvus keeps it as it is. That tokenizer splits at everything but
 * letters and digits, and lowers them. Each other character becomes `z` and the four hexadecimal digits of its UTF-16
 * code.
 */
export function encodeTerm(term: string): string {
  return term.replace(/[^0-9a-y]/g, (unit) => `z${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Encode the terms of a chunk, which are joined by spaces. A text field of Milvus ends at 65,535 bytes: leave out the
 * terms beyond, which only chunks of more than a thousand tokens have.
 */
export function encodeTerms(tokens: string): string {
  if (tokens === '') return NO_TERMS;
  const encoded = tokens.split(' ').map(encodeTerm).join(' ');
  if (encoded.length <= TEXT_BYTES_MAX) return encoded;
  return encoded.slice(0, encoded.lastIndexOf(' ', TEXT_BYTES_MAX));
}

/** Decode terms that `encodeTerms` encoded. */
export function decodeTerms(encoded: string): string {
  if (encoded === NO_TERMS) return '';
  return encoded.replace(/z([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Return the hashes of encoded terms, by which samples are compared. */
export function hashesOf(encoded: string): Set<number> {
  return new Set(decodeTerms(encoded).split(' ').map(hashOf));
}

/** Text of a query, and the factor by which it multiplies the BM25 scores. */
export interface KeywordQuery {
  readonly text: string;
  readonly scale: number;
}

/**
 * Write the terms of a query as the text that Milvus analyses. BM25 multiplies the score of a term by its frequency in
 * the query, so a term is repeated in proportion to its weight.
 */
export function writeQuery(groups: readonly WeightedTerms[]): KeywordQuery {
  const scale = groups.every(({ weight }) => Number.isInteger(weight)) ? 1 : WEIGHT_PARTS;
  const words = groups.flatMap(({ terms, weight }) => {
    const times = Math.max(1, Math.round(weight * scale));
    return terms.flatMap((term) => Array.from({ length: times }, () => encodeTerm(term)));
  });
  return { text: words.join(' '), scale };
}
