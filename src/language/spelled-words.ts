import { stemEnglish } from './english-stem.ts';
import { FUNCTION_WORDS } from './function-words.ts';
import { codeOf, FINAL_COUNT, INITIAL_COUNT, isSyllable, jamoOf, VOWEL_COUNT } from './hangul.ts';
import { indexTerms } from './index-terms.ts';
import { stemKorean } from './korean.ts';
import { STEMMED_LANGUAGES, type StemmedLanguage, stemIn } from './stemmers.ts';
import { languagesOfQuery } from './text-language.ts';

/** Word of a query whose spelling can be corrected. */
export interface SpelledWord {
  /** Word as in the query, in lower case. */
  readonly token: string;
  /** The same word, or the stem of a Hangul word. */
  readonly word: string;
  readonly script: 'latin' | 'hangul';
  /** Terms that the analyser derives from it. */
  readonly terms: readonly string[];
  /** Likely language of the query; null for English or unknown. */
  readonly language: StemmedLanguage | null;
}

/** Maximum number of words to examine in one query. */
const WORDS_MAX = 16;
/** Minimum length. Shorter words are too close to too many others. */
const LATIN_MIN = 5;
const HANGUL_MIN = 2;
const LENGTH_MAX = 32;

const TOKENS = /[\p{L}\p{N}\p{M}]+(?:[-'’._/,&+#][\p{L}\p{N}\p{M}]*)*/gu;
/** Vowels that sound alike, by their numbers: ㅐㅔ, ㅒㅖ, ㅙㅚㅞ. */
const CONFUSED_VOWELS = [
  [1, 5],
  [3, 7],
  [10, 11, 15],
];
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

/**
 * Find the words of a query whose spelling can be corrected: words of only Latin letters or only Hangul, except codes.
 */
export function spelledWords(query: string): SpelledWord[] {
  const words = new Map<string, SpelledWord>();
  const language = languagesOfQuery(query).likely;
  for (const [token] of query.normalize('NFKC').toLowerCase().matchAll(TOKENS)) {
    const spelled = latinWord(token, language) ?? hangulWord(token);
    if (spelled) words.set(spelled.word, spelled);
    if (words.size === WORDS_MAX) break;
  }
  return [...words.values()];
}

function latinWord(token: string, language: StemmedLanguage | null): SpelledWord | null {
  if (token.length < LATIN_MIN || token.length > LENGTH_MAX || !/^[a-z]+$/.test(token)) return null;
  const terms = indexTerms(token, null);
  if (language !== null && FUNCTION_WORDS.get(language)?.has(token)) return null;
  return terms.length === 1 ? { token, word: token, script: 'latin', terms, language } : null;
}

function hangulWord(token: string): SpelledWord | null {
  if (!/^[가-힣]+$/.test(token) || token.length > LENGTH_MAX) return null;
  const [stem] = stemKorean(token);
  if (stem === undefined || stem.length < HANGUL_MIN) return null;
  return { token, word: stem, script: 'hangul', terms: indexTerms(token, null), language: null };
}

export function latinTerm(word: string): string {
  return stemEnglish(word);
}

/** Return the terms that texts may have for a word in Latin letters: its stems in English and in other languages. */
export function latinTerms(word: string, language: StemmedLanguage | null): string[] {
  const languages = language === null ? STEMMED_LANGUAGES : [language];
  return [...new Set([stemEnglish(word), ...languages.map((each) => stemIn(each, word))])];
}

export function syllablePairs(word: string): string[] {
  return Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2));
}

/**
 * Generate all words at a Damerau-Levenshtein distance of 1 from a word in Latin letters. The first letter stays,
 * unless it swaps places with the second.
 */
export function latinEdits(word: string): Set<string> {
  const edits = new Set<string>();
  for (let at = 0; at < word.length; at++) {
    const [before, after] = [word.slice(0, at), word.slice(at)];
    if (after.length > 1) edits.add(before + after.charAt(1) + after.charAt(0) + after.slice(2));
    if (at > 0) edits.add(before + after.slice(1));
    for (const letter of LETTERS) {
      if (at > 0) edits.add(before + letter + after.slice(1));
      edits.add(`${before}${after.charAt(0)}${letter}${after.slice(1)}`);
    }
  }
  edits.delete(word);
  return edits;
}

/**
 * Generate the words that an unknown Hangul word may stand for. Any syllable may be replaced by one that sounds alike.
 * If no text has a syllable next to either of its neighbours, it may be replaced by any syllable at a distance of one
 * jamo, or swapped with its neighbour. Hangul words are written together and keep endings unknown to the analyser, so a
 * single unknown pair doesn't mean a mistake.
 *
 * @param isUnknown true if no text has the pair that begins at this syllable
 */
export function likelyHangulEdits(word: string, isUnknown: (at: number) => boolean): Set<string> {
  const last = word.length - 1;
  return editSyllables(word, {
    isOdd: (at) => at > 0 && at < last && isUnknown(at - 1) && isUnknown(at),
    canSwap: (at) => [at - 1, at, at + 1].filter((pair) => pair >= 0 && pair < last && isUnknown(pair)).length > 1,
  });
}

/** Generate the words that sound like a Hangul word. */
export function soundingLike(word: string): Set<string> {
  return editSyllables(word, { isOdd: () => false, canSwap: () => false });
}

/** Generate all words at a distance of one jamo from a Hangul word, or with two swapped syllables. */
export function hangulEdits(word: string): Set<string> {
  return editSyllables(word, { isOdd: () => true, canSwap: () => true });
}

function editSyllables(
  word: string,
  { isOdd, canSwap }: { readonly isOdd: (at: number) => boolean; readonly canSwap: (at: number) => boolean },
): Set<string> {
  const edits = new Set<string>();
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at);
    if (!isSyllable(code)) continue;
    for (const other of isOdd(at) ? oneJamoFrom(code) : soundingAlike(code)) {
      edits.add(word.slice(0, at) + String.fromCharCode(other) + word.slice(at + 1));
    }
    if (at < word.length - 1 && canSwap(at)) {
      edits.add(word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2));
    }
  }
  edits.delete(word);
  return edits;
}

/** Return the syllables that differ in the initial consonant, the vowel or the optional final consonant. */
function oneJamoFrom(code: number): number[] {
  const jamo = jamoOf(code);
  return [
    ...Array.from({ length: INITIAL_COUNT }, (_, initial) => codeOf({ ...jamo, initial })),
    ...Array.from({ length: VOWEL_COUNT }, (_, vowel) => codeOf({ ...jamo, vowel })),
    ...Array.from({ length: FINAL_COUNT }, (_, final) => codeOf({ ...jamo, final })),
  ];
}

function soundingAlike(code: number): number[] {
  const jamo = jamoOf(code);
  const alike = CONFUSED_VOWELS.find((vowels) => vowels.includes(jamo.vowel)) ?? [];
  return alike.map((vowel) => codeOf({ ...jamo, vowel }));
}
