import { ENGLISH_STOP_WORDS } from './english-words.ts';
import { FUNCTION_WORDS } from './function-words.ts';
import { STEMMED_LANGUAGES, type StemmedLanguage } from './stemmers.ts';

/** Number of function words that show the language of a text, and their share of all its words. */
const FOUND_MIN = 2;
const FOUND_SHARE_MIN = 0.2;
/** Minimum share of the best language's function words at which another language remains possible. */
const POSSIBLE_SHARE = 0.5;
/** Maximum length of text to read. Chunks are hardly longer. */
const READ_CHARS_MAX = 4_000;
/** Words of at least two letters. Single letters are often names of things. */
const WORDS = /[\p{L}\p{M}]{2,}/gu;

/** Position of English in the counts. */
const ENGLISH: number = STEMMED_LANGUAGES.length;

/** Languages of each function word, as positions in the counts. Created for the first text. */
let languagesOf: ReadonlyMap<string, readonly number[]> | null = null;

/** Languages that a query may have, by its function words. */
export interface QueryLanguages {
  /** Language with the most function words; null if it is English or unknown. */
  readonly likely: StemmedLanguage | null;
  /** Languages, except English, whose stems may find what the query looks for. */
  readonly possible: readonly StemmedLanguage[];
}

/**
 * Return the language whose stems the index holds for a text: the one with the most function words. Return null for
 * English, and for texts with hardly any function words. Consider only languages in Latin script.
 */
export function languageOfText(text: string): StemmedLanguage | null {
  return likely(countFunctionWords(text));
}

/** Find the languages that a query may have. A query without function words may have any language. */
export function languagesOfQuery(query: string): QueryLanguages {
  const found = countFunctionWords(query);
  const most = Math.max(...found.counts);
  if (most < FOUND_MIN) return { likely: null, possible: STEMMED_LANGUAGES };
  const possible = STEMMED_LANGUAGES.filter((_, at) => (found.counts[at] as number) > most * POSSIBLE_SHARE);
  return { likely: likely(found), possible };
}

/** Numbers of the function words of each language, and of all words. */
interface FunctionWordCounts {
  readonly counts: Uint32Array;
  readonly words: number;
}

function likely({ counts, words }: FunctionWordCounts): StemmedLanguage | null {
  let found = ENGLISH;
  for (let at = 0; at < ENGLISH; at++) if ((counts[at] as number) > (counts[found] as number)) found = at;
  const most = counts[found] as number;
  return most < FOUND_MIN || most < words * FOUND_SHARE_MIN
    ? null
    : ((STEMMED_LANGUAGES as readonly StemmedLanguage[])[found] ?? null);
}

function countFunctionWords(text: string): FunctionWordCounts {
  languagesOf ??= invert();
  const counts = new Uint32Array(ENGLISH + 1);
  let words = 0;
  for (const [word] of text.slice(0, READ_CHARS_MAX).normalize('NFC').toLowerCase().matchAll(WORDS)) {
    words++;
    for (const language of languagesOf.get(word) ?? []) counts[language] = (counts[language] as number) + 1;
  }
  return { counts, words };
}

function invert(): ReadonlyMap<string, readonly number[]> {
  const languages = new Map<string, number[]>();
  const lists = [...STEMMED_LANGUAGES.map((language) => FUNCTION_WORDS.get(language)), ENGLISH_STOP_WORDS];
  for (const [at, words] of lists.entries()) {
    for (const word of words ?? []) languages.set(word, [...(languages.get(word) ?? []), at]);
  }
  return languages;
}
