import { hangulEdits, latinEdits, latinTerm, type SpelledWord, syllablePairs } from '../../language/spelled-words.ts';
import { countEdits } from '../../platform/nearest-word.ts';
import type { KeywordRows } from './keyword-rows.ts';

/** Maximum number of words of a query to correct. */
const CORRECTED_MAX = 4;
/** Minimum length of a word in which two mistakes are corrected. */
const TWO_MISTAKES_LENGTH = 8;
/** Number of terms of a table above which only single mistakes are corrected. */
const SCANNED_TERMS_MAX = 300_000;

/** Correction of a word of the query that no row of a table has. */
export interface Correction {
  /** The word of the query, and its correction. */
  readonly from: string;
  readonly to: string;
  /** Their terms. */
  readonly replaced: readonly string[];
  readonly by: readonly string[];
}

/** Return true if no row has the word as it is spelled. */
export function isUnknown(keywords: KeywordRows, { script, terms, word }: SpelledWord): boolean {
  const own = script === 'latin' ? terms : syllablePairs(word);
  return own.some((term) => keywords.countRows(term) === 0);
}

/**
 * Find the nearest known word for each unknown word. Of several at the same distance, take the most frequent one, then
 * the first by code unit. Leave out words without a correction.
 */
export function correctWords(keywords: KeywordRows, words: readonly SpelledWord[]): Correction[] {
  const unknown = words.filter((word) => isUnknown(keywords, word)).slice(0, CORRECTED_MAX);
  return unknown.flatMap((word) =>
    word.script === 'latin' ? correctLatin(keywords, word) : correctHangul(keywords, word),
  );
}

function correctLatin(keywords: KeywordRows, { word, terms }: SpelledWord): Correction[] {
  const near = mostFrequent(latinEdits(word), (edit) => keywords.countRows(latinTerm(edit)));
  if (near !== null) return [{ from: word, to: near, replaced: terms, by: [latinTerm(near)] }];
  const [term = ''] = terms;
  if (word.length < TWO_MISTAKES_LENGTH || keywords.termCount > SCANNED_TERMS_MAX) return [];
  const isNear = (other: string) => /^[a-z]+$/.test(other) && countEdits(term, other) <= 2;
  const alike = keywords.termsLike(term.charCodeAt(0), term.length - 2, term.length + 2).filter(isNear);
  const found = mostFrequent(alike, (other) => keywords.countRows(other));
  return found === null ? [] : [{ from: word, to: found, replaced: terms, by: [found] }];
}

/** The index has the pairs of syllables of a Hangul word, so it must know all pairs of the corrected word. */
function correctHangul(keywords: KeywordRows, { word, terms }: SpelledWord): Correction[] {
  const rowsOf = (edit: string) => Math.min(...syllablePairs(edit).map((pair) => keywords.countRows(pair)));
  const pairs = syllablePairs(word).map((pair) => keywords.countRows(pair) === 0);
  const near = mostFrequent(
    hangulEdits(word, (at) => pairs[at] === true),
    rowsOf,
  );
  return near === null ? [] : [{ from: word, to: near, replaced: terms, by: syllablePairs(near) }];
}

function mostFrequent(words: Iterable<string>, rowsOf: (word: string) => number): string | null {
  let best: string | null = null;
  let most = 0;
  for (const word of words) {
    const rows = rowsOf(word);
    if (rows > most || (rows === most && best !== null && word < best)) [best, most] = [word, rows];
  }
  return best;
}
