import { ENGLISH_STOP_WORDS } from './english-words.ts';
import { stemKorean } from './korean.ts';
import { safeCut } from './sentences.ts';
import { type StemmedLanguage, stemIn } from './stemmers.ts';
import {
  characterGrams,
  compoundTerms,
  cutToBytes,
  extractTerms,
  fold,
  hangulTerms,
  remember,
  simpleTerms,
  type TermRules,
  wordTerms,
} from './words.ts';

/** Number of characters per term in a script without spaces: three if its letters are sounds. */
const GRAM_LENGTH = 2;
const ALPHABETIC_GRAM_LENGTH = 3;
const ALPHABETIC = /[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
/** Maximum length to segment at once. The segmenter is slow on long strings. */
const SEGMENTED_CHARS_MAX = 1_000;
/** Minimum number of syllables of a Korean word that is also indexed as a whole. */
const WHOLE_SYLLABLES_MIN = 5;

const ASCII = /^[\0-\x7f]*$/;
/** Ending that always has an accent in Spanish. Many queries omit the accent. */
const SPANISH_ION = /(?<=[cs])ion$/;
const LATIN = /^[\p{sc=Latin}\p{M}]+$/u;
/** Words of letters that Russian has. */
const CYRILLIC = /^[а-яё]+$/;

/** Segmenter, created for the first text in a script without spaces. */
let segmenter: Intl.Segmenter | null = null;
const cachedDense = new Map<string, readonly string[]>();
const rulesOf = new Map<StemmedLanguage | null, TermRules>();

/**
 * Extract the terms of a text as the keyword index stores them. They are the terms of `words.ts`, but Latin-script
 * words get the stems of the text's language, words in Cyrillic the Russian stems, and scripts without spaces also
 * yield their words in addition to the character sequences. A change here needs a new `INDEX_TERMS_VERSION`.
 *
 * @param language of the stems; null for English
 */
export function indexTerms(text: string, language: StemmedLanguage | null): string[] {
  return extractTerms(text, rulesFor(language));
}

/** Extract the terms of one lower-case word, with its joiners, in a script other than Hangul and the dense ones. */
export function indexWordTerms(word: string, language: StemmedLanguage | null): readonly string[] {
  return rulesFor(language).word(word);
}

function rulesFor(language: StemmedLanguage | null): TermRules {
  let rules = rulesOf.get(language);
  if (rules === undefined) {
    const cache = new Map<string, readonly string[]>();
    const word = (joined: string) => {
      if (language === null && ASCII.test(joined)) return wordTerms(joined);
      const terms = cache.get(joined);
      if (terms) return terms;
      const composed = joined.replaceAll('’', "'").normalize('NFC');
      const made = compoundTerms(composed, (part) => partTerms(part, language)).map((term) => cutToBytes(fold(term)));
      return remember(cache, joined, made);
    };
    rules = { word, hangul: wholeHangulTerms, dense: denseTerms };
    rulesOf.set(language, rules);
  }
  return rules;
}

function partTerms(part: string, language: StemmedLanguage | null): string[] {
  const folded = fold(part);
  if (folded === '' || ENGLISH_STOP_WORDS.has(folded)) return [];
  if (CYRILLIC.test(part)) return [stemIn('ru', part.replaceAll('ё', 'е'))];
  if (language === null || !LATIN.test(part)) return simpleTerms(folded);
  return [stemIn(language, language === 'es' ? part.replace(SPANISH_ION, 'ión') : part)];
}

/** Return the pairs of syllables of a word, and its whole stem if that is long. */
function wholeHangulTerms(run: string, foreignBefore: boolean): readonly string[] {
  const pairs = hangulTerms(run, foreignBefore);
  if (run.length < WHOLE_SYLLABLES_MIN) return pairs;
  const [stem = ''] = stemKorean(run, foreignBefore);
  return stem.length < WHOLE_SYLLABLES_MIN ? pairs : [...pairs, cutToBytes(stem)];
}

/** Return the sequences of characters of a run, and its words. A word as long as a sequence counts twice. */
function denseTerms(decomposed: string): readonly string[] {
  const known = cachedDense.get(decomposed);
  if (known) return known;
  // NFKC decomposes the vowel sign AM of Thai and Lao, which the segmenter's dictionary contains whole.
  const run = decomposed.replaceAll('\u0e4d\u0e32', '\u0e33').replaceAll('\u0ecd\u0eb2', '\u0eb3');
  const terms = characterGrams(run, ALPHABETIC.test(run) ? ALPHABETIC_GRAM_LENGTH : GRAM_LENGTH);
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' });
  for (let from = 0; from < run.length; ) {
    const end = safeCut(run, from + SEGMENTED_CHARS_MAX);
    for (const { segment } of segmenter.segment(run.slice(from, end))) {
      if (segment !== terms[0] || terms.length > 1) terms.push(cutToBytes(segment));
    }
    from = end;
  }
  return remember(cachedDense, decomposed, terms);
}
