import { ENGLISH_STOP_WORDS } from './english-words.ts';
import { countScripts } from './scripts.ts';

export interface Detection {
  /** ISO 639-1, or null if the language is unknown. */
  readonly language: string | null;
  /** True if the text is long and plain enough for a decision. */
  readonly reliable: boolean;
}

/** Size of the sample of a text: its beginning and a part of its middle. */
const HEAD_CHARS_MAX = 2000;
const MIDDLE_CHARS_MAX = 500;

/**
 * Minimum share of letters at which a non-Latin script determines the language of a text. A syllable or ideograph
 * carries more than a Latin letter, so in a half-Korean text at most a third of the letters are Korean.
 */
const SHARE_MIN = 0.3;
/** Minimum share if the other words are names, without any English function word ("iPhone 15 Pro Max 케이스"). */
const SHARE_AMONG_NAMES_MIN = 0.1;

/** Languages that a single letter proves. Greek letters are also symbols, and three languages use Han. */
const CERTAIN_SCRIPTS: ReadonlySet<string> = new Set(['ko', 'ja']);
const SCRIPT_LETTERS_MIN = 5;
/** Minimum number of words. Shorter texts are often names, loan words or greetings, for which detectors only guess. */
const WORDS_MIN = 4;

/** Characters given to the detector, which reads about 350 bytes. */
const WORDS_CHARS_MAX = 350;
const MIDDLE_WORDS_CHARS = 110;
const WORD_CHARS_MAX = 40;

interface Sample {
  readonly head: string;
  readonly middle: string;
}

const UNKNOWN: Detection = { language: null, reliable: false };

/** Words in the scripts that several languages share. */
const WORDS =
  /[\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Devanagari}][\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Devanagari}\p{M}'’]*/gu;
/** Addresses, paths, codes and numbers, which are in no language. */
const NOT_A_WORD = /[\p{N}@/\\_=<>{}]|\.\p{L}/u;

type Detector = (words: string) => { readonly language: string; isReliable(): boolean };
let detector: Detector | null = null;
let loading: Promise<Detector> | null = null;

/**
 * Detect the language of a text by its script (Korean, Japanese, Chinese, Thai, Greek, Hebrew, …). For a text in a
 * script of several languages, such as Latin, the language is null, and `reliable` is true if it has at least 4 words.
 * A text is Korean if 30 % of its letters are, or 10 % if its Latin words are only names.
 *
 * Reads at most 2,500 characters: under 50 µs, or 0.1 ms if the words are read too.
 */
export function detectByScript(text: string): Detection {
  const sample = sampleOf(text);
  return byScript(sample) ?? { language: null, reliable: wordsOf(sample).length >= WORDS_MIN };
}

/**
 * Detect the language of a text by its script, else by its words. Very short texts, codes and names give no reliable
 * result. The result is a promise only if the detector is needed and not yet loaded (`loadLanguageDetector`).
 */
export function detectLanguage(text: string): Detection | Promise<Detection> {
  const sample = sampleOf(text);
  const byScriptAlone = byScript(sample);
  if (byScriptAlone) return byScriptAlone;
  const words = wordsOf(sample);
  if (words.length === 0) return UNKNOWN;
  if (detector) return byWords(words, detector);
  return loadDetector().then((loaded) => byWords(words, loaded));
}

/** Load the detector for languages that share a script. Loading blocks for about 0.2 s and takes 30 MB permanently. */
export async function loadLanguageDetector(): Promise<void> {
  await loadDetector();
}

function loadDetector(): Promise<Detector> {
  loading ??= import('eld/extrasmall').then(({ eld }) => {
    detector = (words) => eld.detect(words);
    return detector;
  });
  return loading;
}

function byScript({ head, middle }: Sample): Detection | null {
  const sample = middle === '' ? head : `${head} ${middle}`;
  const { letters, language, own } = countScripts(sample);
  if (letters === 0) return UNKNOWN;
  if (language === null || own < SHARE_AMONG_NAMES_MIN * letters) return null;
  if (own < SHARE_MIN * letters && hasEnglishFunctionWord(sample)) return null;
  return { language, reliable: CERTAIN_SCRIPTS.has(language) || own >= SCRIPT_LETTERS_MIN };
}

function hasEnglishFunctionWord(sample: string): boolean {
  for (const [word] of sample.matchAll(/[a-z]+/gi)) if (ENGLISH_STOP_WORDS.has(word.toLowerCase())) return true;
  return false;
}

function byWords(words: readonly string[], detect: Detector): Detection {
  const found = detect(words.join(' '));
  if (found.language === '' || !found.isReliable()) return UNKNOWN;
  return { language: found.language, reliable: words.length >= WORDS_MIN };
}

function sampleOf(text: string): Sample {
  if (text.length <= HEAD_CHARS_MAX) return { head: text, middle: '' };
  const middle = Math.max(HEAD_CHARS_MAX, (text.length - MIDDLE_CHARS_MAX) >> 1);
  return { head: text.slice(0, HEAD_CHARS_MAX), middle: text.slice(middle, middle + MIDDLE_CHARS_MAX) };
}

function wordsOf({ head, middle }: Sample): string[] {
  if (middle === '') return firstWords(head, WORDS_CHARS_MAX);
  return [...firstWords(head, WORDS_CHARS_MAX - MIDDLE_WORDS_CHARS), ...firstWords(middle, MIDDLE_WORDS_CHARS)];
}

/** Return the first words in shared scripts, of about `charsMax` characters together. */
function firstWords(text: string, charsMax: number): string[] {
  const words: string[] = [];
  let chars = 0;
  for (const [part] of text.matchAll(/\S+/g)) {
    if (NOT_A_WORD.test(part)) continue;
    for (const [word] of part.matchAll(WORDS)) {
      if (word.length > WORD_CHARS_MAX) continue;
      words.push(word);
      chars += word.length + 1;
      if (chars >= charsMax) return words;
    }
  }
  return words;
}
