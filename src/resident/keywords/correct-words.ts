import { hangulEdits, latinEdits, latinTerm, type SpelledWord, syllablePairs } from '../../language/spelled-words.ts';
import { countEdits } from '../../platform/nearest-word.ts';
import type { KeywordRows } from './keyword-rows.ts';

/** Words of a query that are corrected at most. */
const CORRECTED_MAX = 4;
/** Words with two mistakes are looked for from this length on. */
const TWO_MISTAKES_LENGTH = 8;
/** Terms of a table above which only words with one mistake are corrected. */
const SCANNED_TERMS_MAX = 300_000;

/** Word of a query in place of one that no row of a table has. */
export interface Correction {
  /** The word of the query, and the one that it was read as. */
  readonly from: string;
  readonly to: string;
  /** Their terms. */
  readonly replaced: readonly string[];
  readonly by: readonly string[];
}

/** Return true if no row can have been meant by the word as it is spelled. */
export function isUnknown(keywords: KeywordRows, { script, terms, word }: SpelledWord): boolean {
  const own = script === 'latin' ? terms : syllablePairs(word);
  return own.some((term) => keywords.countRows(term) === 0);
}

/**
 * Find the nearest known word for each unknown one: of several at the same distance the most frequent, and of those the
 * first by code unit. Words for which there is none are left out.
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

/** A Hangul word is known by its pairs of syllables, so that all pairs of the corrected word must be known. */
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
