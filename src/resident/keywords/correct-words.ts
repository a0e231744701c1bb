import { isEnglishCompound, isEnglishWord } from '../../language/english-dictionary.ts';
import { indexTerms } from '../../language/index-terms.ts';
import { isKoreanWord } from '../../language/korean-dictionary.ts';
import {
  hangulEdits,
  latinEdits,
  latinTerm,
  latinTerms,
  likelyHangulEdits,
  type SpelledWord,
  soundingLike,
  syllablePairs,
} from '../../language/spelled-words.ts';
import { type StemmedLanguage, stemIn } from '../../language/stemmers.ts';
import { hangulTerms } from '../../language/words.ts';
import { countEdits } from '../../platform/nearest-word.ts';
import type { KeywordRows } from './keyword-rows.ts';

/** Maximum number of query words to correct. */
const CORRECTED_MAX = 4;
/** Minimum lengths of a word and of its stem for correcting two mistakes. */
const TWO_MISTAKES_LENGTH = 8;
const TWO_MISTAKES_TERM_LENGTH = 6;
/** Minimum length of a Hangul word for correcting arbitrary mistakes. Shorter words have too many neighbours. */
const DICTIONARY_LENGTH = 3;
/** Number of terms in a table above which only single mistakes are corrected. */
const SCANNED_TERMS_MAX = 300_000;

/** Number of rows from which a word outside the dictionary counts as a name or technical term, not as a misspelling. */
const ROWS_OF_NAME_MIN = 2;
/** Number of rows of a table below which a single row suffices, since most names occur once. */
const SMALL_TABLE_ROWS = 500;

/** Correction of a query word that occurs in no row of a table. */
export interface Correction {
  /** Query word, and its correction. */
  readonly from: string;
  readonly to: string;
  /** Their terms. */
  readonly replaced: readonly string[];
  readonly by: readonly string[];
}

/** Return true if no row contains the word with any ending, and it isn't a word of its language. */
export function isMisspelled(keywords: KeywordRows, spelled: SpelledWord): boolean {
  const { script, terms, token, word, language } = spelled;
  if (script === 'hangul') {
    if (syllablePairs(word).every((term) => keywords.countRows(term) > 0)) return false;
    return !isKoreanWord(word) && !isKoreanWord(token);
  }
  if (terms.every((term) => keywords.countRows(term) > 0)) return false;
  if (language !== null && hasRows(keywords, latinTerms(word, language))) return false;
  return !isEnglishWord(word);
}

function hasRows(keywords: KeywordRows, terms: readonly string[]): boolean {
  return terms.some((term) => keywords.countRows(term) > 0);
}

/**
 * Find the nearest known word for each misspelled word. At equal distance, prefer the most frequent word, then the
 * first one by code unit. Omit words without a correction.
 */
export function correctWords(keywords: KeywordRows, words: readonly SpelledWord[]): Correction[] {
  const misspelled = words.filter((word) => isMisspelled(keywords, word)).slice(0, CORRECTED_MAX);
  return misspelled.flatMap((word) =>
    word.script === 'latin' ? correctLatin(keywords, word) : correctHangul(keywords, word),
  );
}

function correctLatin(keywords: KeywordRows, spelled: SpelledWord): Correction[] {
  const { word, terms, language } = spelled;
  const rowsOf = (edit: string) => Math.max(...termsOfEdit(edit, language).map((term) => keywords.countRows(term)));
  const edits = [...latinEdits(word)].filter((edit) => rowsOf(edit) > 0);
  const toNear = (near: string) => {
    const by = termsOfEdit(near, language).filter((term) => keywords.countRows(term) > 0);
    return [{ from: word, to: near, replaced: terms, by }];
  };
  if (language !== null) {
    // A query in another language doesn't mean an English word.
    const isOther = (edit: string) => !isEnglishWord(edit) && !isEnglishWord(stemIn(language, edit));
    const near = mostFrequent(edits.filter(isOther), rowsOf);
    return near === null ? [] : toNear(near);
  }
  const near = mostFrequent(edits.filter(isEnglishWord), rowsOf);
  if (near !== null) return toNear(near);
  if (isEnglishCompound(word) || hasRows(keywords, latinTerms(word, null))) return [];
  const rowsMin = keywords.rowCount < SMALL_TABLE_ROWS ? 1 : ROWS_OF_NAME_MIN;
  const nearName = mostFrequent(edits, (edit) => (rowsOf(edit) >= rowsMin ? rowsOf(edit) : 0));
  return nearName === null ? correctTwoMistakes(keywords, spelled, rowsMin) : toNear(nearName);
}

/** Return the terms of a corrected word. For dictionary words, the English stem alone is enough, and faster. */
function termsOfEdit(edit: string, language: StemmedLanguage | null): string[] {
  return language === null ? [latinTerm(edit)] : latinTerms(edit, language);
}

/** Correct a long word to the stem of an English word, or to one that occurs in `rowsMin` rows. */
function correctTwoMistakes(keywords: KeywordRows, { word, terms }: SpelledWord, rowsMin: number): Correction[] {
  const [term = ''] = terms;
  if (word.length < TWO_MISTAKES_LENGTH || term.length < TWO_MISTAKES_TERM_LENGTH) return [];
  if (keywords.termCount > SCANNED_TERMS_MAX) return [];
  const ending = word.startsWith(term) ? word.slice(term.length) : '';
  const alike = keywords
    .termsLike(term.charCodeAt(0), term.length - 2, term.length + 2)
    .filter((other) => /^[a-z]+$/.test(other) && countEdits(term, other) <= 2);
  const found = mostFrequent(alike, (other) => {
    const rows = keywords.countRows(other);
    return rows >= rowsMin || isEnglishWord(other + ending) ? rows : 0;
  });
  return found === null ? [] : [{ from: word, to: found, replaced: terms, by: [found] }];
}

/**
 * Correct a Hangul word to a dictionary word. If there is none, try only likely mistakes, since the word may be a name.
 * The index stores syllable pairs, so it must contain all pairs of the corrected word.
 */
function correctHangul(keywords: KeywordRows, { token, word, terms }: SpelledWord): Correction[] {
  const rowsOf = (pairs: readonly string[]) => Math.min(...pairs.map((pair) => keywords.countRows(pair)));
  const rowsOfWord = (edit: string) => {
    const own = hangulTerms(edit, false);
    return own.length > 0 && rowsOf(own) > 0 && isKoreanWord(edit) ? rowsOf(own) : 0;
  };
  // Try the stem first: a syllable that looks like an ending may belong to the word (청소기).
  for (const form of new Set([word, token])) {
    const wide = form.length < DICTIONARY_LENGTH ? [] : hangulEdits(form);
    const near = mostFrequent(soundingLike(form), rowsOfWord) ?? mostFrequent(wide, rowsOfWord);
    if (near !== null) return [{ from: form, to: near, replaced: terms, by: indexTerms(near, null) }];
  }
  const unknown = syllablePairs(word).map((pair) => keywords.countRows(pair) === 0);
  const near = mostFrequent(
    likelyHangulEdits(word, (at) => unknown[at] === true),
    (edit) => rowsOf(syllablePairs(edit)),
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
