import { stemEnglish } from './english-stem.ts';
import { ENGLISH_STOP_WORDS } from './english-words.ts';
import { stemKorean } from './korean.ts';

/** Maximum length of a term. The full-text index drops terms of 40 bytes and more, so longer ones are cut. */
export const TERM_BYTES_MAX = 39;
/** Words with more parts are paths or addresses, which are not indexed as a whole. */
const CODE_PARTS_MAX = 4;
const AMPERSAND_NAME_MAX = 5;
/**
 * Maximum consecutive marks: the stream-safe limit of Unicode (UAX #15). Normalising longer runs takes quadratic time.
 */
const MARKS_MAX = 30;
const CACHED_WORDS_MAX = 32_768;
const CACHED_WORD_CHARS_MAX = 32;

const NOT_ASCII = /[\u0080-\uffff]/;
const ASCII_WORDS = /[a-z0-9]+(?:[-'._/,&][a-z0-9]+)*(?:\+\+|#)?/g;
/** Scripts that are written without spaces, except Hangul. */
const DENSE = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}ー\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
const SPACED = `[[\\p{L}\\p{N}\\p{M}]--[\\p{sc=Hangul}${DENSE}]]+`;
/** Words. Group 1: Hangul. Group 2: dense scripts. No group: another word, number or code, with its joiners. */
const WORDS = new RegExp(`(\\p{sc=Hangul}+)|([${DENSE}]+)|${SPACED}(?:[\\-'’._\\/,\\&]${SPACED})*(?:\\+\\+|#)?`, 'gv');

/**
 * Marks to remove: Latin, Greek and Cyrillic accents, Hebrew and Arabic vowels. In other scripts, a mark is a letter.
 */
const FOLDED_MARKS = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]/g;
const FOLDED_LETTERS = new Map(
  Object.entries({ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' }),
);

const cachedWords = new Map<string, readonly string[]>();
const cachedHangul = new Map<string, readonly string[]>();

/**
 * Extract the terms of a text in its order, as the built-in model embeds them. Words in Latin script are folded (case,
 * accents, width), English endings are removed and stop words dropped. Hangul words lose their particles and endings
 * and are cut into pairs of syllables; other scripts without spaces are cut into pairs of characters. Numbers and codes
 * (`3.14`, `AB-1234`, `v2.0.1`) are kept whole, and codes also yield their parts. Every string is accepted, in time
 * linear in its length. No term contains white space or has more than 39 UTF-8 bytes.
 *
 * A change here changes the vectors of `local/lexical-1`, so it needs a new model id. The index has its own rules
 * (`index-terms.ts`).
 */
export function termsOf(text: string): string[] {
  return extractTerms(text, MODEL_RULES);
}

/** Functions that return the terms of words, which are in lower case and NFKC. */
export interface TermRules {
  /** Return the terms of a word with its joiners, in a script other than Hangul and the dense ones. */
  readonly word: (word: string) => readonly string[];
  /** Return the terms of a run of Hangul. `foreignBefore`: it follows a Latin word or a number without a space. */
  readonly hangul: (run: string, foreignBefore: boolean) => readonly string[];
  /** Return the terms of a run of a script without spaces. */
  readonly dense: (run: string) => readonly string[];
}

/** Extract the terms of a text in its order, by these rules. */
export function extractTerms(text: string, rules: TermRules): string[] {
  const terms: string[] = [];
  if (!NOT_ASCII.test(text)) {
    for (const word of text.toLowerCase().match(ASCII_WORDS) ?? []) append(terms, rules.word(word));
    return terms;
  }
  let wordEnd = -1;
  for (const match of normalize(text).matchAll(WORDS)) {
    const [all, hangul, dense] = match;
    if (hangul !== undefined) append(terms, rules.hangul(hangul, wordEnd === match.index));
    else if (dense !== undefined) append(terms, rules.dense(dense));
    else {
      append(terms, rules.word(all));
      wordEnd = match.index + all.length;
    }
  }
  return terms;
}

/** List the words of a text in lower case, with their joiners, in scripts other than Hangul and the dense ones. */
export function findWords(text: string): string[] {
  const words: string[] = [];
  for (const [all, hangul, dense] of normalize(text).matchAll(WORDS)) if (!hangul && !dense) words.push(all);
  return words;
}

/** Return a text in lower case and NFKC. Shorten long runs of marks. */
function normalize(text: string): string {
  const plain = text.replace(/\p{M}{31,}/gu, (marks) => Array.from(marks).slice(0, MARKS_MAX).join(''));
  return plain.normalize('NFKC').toLowerCase();
}

function append(terms: string[], more: readonly string[]): void {
  for (const term of more) terms.push(term);
}

/** Return all sequences of `length` adjacent characters of a run, or the run if it is shorter. */
export function characterGrams(run: string, length: number): string[] {
  const characters = Array.from(run);
  if (characters.length <= length) return [run];
  const grams: string[] = [];
  for (let at = 0; at + length <= characters.length; at++) grams.push(characters.slice(at, at + length).join(''));
  return grams;
}

/** Return the pairs of syllables of a run of Hangul, without its particles and endings. */
export function hangulTerms(run: string, foreignBefore: boolean): readonly string[] {
  const key = foreignBefore ? `-${run}` : run;
  const known = cachedHangul.get(key);
  if (known) return known;
  const terms = stemKorean(run, foreignBefore).flatMap((stem) => characterGrams(stem, 2));
  return remember(cachedHangul, key, terms);
}

/** Extract the terms of one lower-case word, with its joiners, in a script other than Hangul and the dense ones. */
export function wordTerms(word: string): readonly string[] {
  const known = cachedWords.get(word);
  if (known) return known;
  const terms = compoundTerms(fold(word), simpleTerms).map(cutToBytes);
  return remember(cachedWords, word, terms);
}

/** Rules of the terms that `local/lexical-1` embeds. They never change. */
const MODEL_RULES: TermRules = { word: wordTerms, hangul: hangulTerms, dense: (run) => characterGrams(run, 2) };

/** Cache the terms of a word. A full cache is emptied, which costs less than tracking the order of use. */
export function remember(
  cache: Map<string, readonly string[]>,
  key: string,
  terms: readonly string[],
): readonly string[] {
  if (key.length > CACHED_WORD_CHARS_MAX) return terms;
  if (cache.size >= CACHED_WORDS_MAX) cache.clear();
  cache.set(key, terms);
  return terms;
}

/** Remove accents and other marks of a lower-case word, and replace letters that have none, such as `ø`. */
export function fold(word: string): string {
  if (!NOT_ASCII.test(word)) return word;
  const bare = word.replaceAll('’', "'").normalize('NFD').replace(FOLDED_MARKS, '');
  return bare.replace(/[ßæœøłđðþı]/g, (letter) => FOLDED_LETTERS.get(letter) ?? letter).normalize('NFC');
}

/** Function that returns the terms of a word without joiners. */
type PartRule = (part: string) => string[];

/**
 * Return the terms of a word that may have several parts: contractions, codes, hyphenated words, paths.
 * @param simple returns the terms of a part
 */
export function compoundTerms(joined: string, simple: PartRule): string[] {
  const suffixed = /^(.*?)(?:\+\+|#)$/s.exec(joined);
  // In C++, C# and F# the sign is part of the name.
  if (suffixed && /^\p{L}{1,2}$/u.test(suffixed[1] ?? '')) return [joined];
  const word = suffixed?.[1] ?? joined;
  if (word.includes("'")) return contractionTerms(word, simple);
  if (word.includes(',')) {
    if (/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(word)) return [word.replaceAll(',', '')];
    return word.split(',').flatMap((part) => compoundTerms(part, simple));
  }
  if (/^[\d.]+$/.test(word)) return [word];
  if (/^\p{L}(?:\.\p{L}){1,4}$/u.test(word)) return simple(word.replaceAll('.', ''));
  // AT&T and R&D are names, salt&pepper is not.
  if (word.includes('&') && word.length <= AMPERSAND_NAME_MAX) return [word];
  const parts = word.split(/[-._/&]/);
  if (parts.length === 1) return simple(word);
  if (parts.length <= CODE_PARTS_MAX) {
    if (/\p{N}/u.test(word)) return [word, ...parts.filter((part) => part.length > 1).flatMap(simple)];
    // With this, e-mail matches email, and x-ray matches xray.
    const [first = '', second = ''] = parts;
    if (parts.length === 2 && first.length === 1) return [...simple(first + second), ...simple(second)];
  }
  return parts.flatMap(simple);
}

function contractionTerms(word: string, simple: PartRule): string[] {
  if (ENGLISH_STOP_WORDS.has(word.replaceAll("'", ''))) return [];
  const parts = word.replace(/'s$/, '').split("'");
  // Drop the article of l'avion and the rest of a truncated word.
  return parts.filter((part) => part.length > 1).flatMap((part) => compoundTerms(part, simple));
}

/** Return the English stem of a folded word, or nothing for a stop word. */
export function simpleTerms(word: string): string[] {
  if (word === '' || ENGLISH_STOP_WORDS.has(word)) return [];
  return [word.length <= TERM_BYTES_MAX && /^[a-z]+$/.test(word) ? stemEnglish(word) : word];
}

/** Cut a term to the maximum length. */
export function cutToBytes(term: string): string {
  if (term.length * 3 <= TERM_BYTES_MAX) return term;
  let bytes = 0;
  let cut = '';
  for (const character of term) {
    bytes += Buffer.byteLength(character);
    if (bytes > TERM_BYTES_MAX) return cut;
    cut += character;
  }
  return cut;
}
