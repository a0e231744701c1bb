/**
 * Stemmer for English words: the Snowball "English" (Porter2) algorithm, written from its published description,
 * https://snowballstem.org/algorithms/english/stemmer.html (M. F. Porter, revised 2002).
 */

const VOWELS = 'aeiouy';
const LI_ENDINGS = 'cdeghkmnrt';
const DOUBLES = 'bdfgmnprt';

/** Stems of words for which the rules give a wrong result. */
const EXCEPTIONS = new Map<string, string>([
  ['skis', 'ski'],
  ['skies', 'sky'],
  ['dying', 'die'],
  ['lying', 'lie'],
  ['tying', 'tie'],
  ['idly', 'idl'],
  ['gently', 'gentl'],
  ['ugly', 'ugli'],
  ['early', 'earli'],
  ['only', 'onli'],
  ['singly', 'singl'],
  ...['sky', 'news', 'howe', 'atlas', 'cosmos', 'bias', 'andes'].map((word) => [word, word] as const),
]);
/** Words that begin differently from their stem, by stem. */
const WORDS_BEGINNING_OTHERWISE: ReadonlyMap<string, string> = new Map(
  [...EXCEPTIONS].filter(([word, stem]) => !word.startsWith(stem.slice(0, 2))).map(([word, stem]) => [stem, word]),
);
/** Words that no further rule changes once the plural ending is removed. */
const UNCHANGED_AFTER_PLURAL = new Set([
  'inning',
  'outing',
  'canning',
  'herring',
  'earring',
  'proceed',
  'exceed',
  'succeed',
]);
const LONG_PREFIXES = ['gener', 'commun', 'arsen'];

type Rule = readonly [suffix: string, replacement: string, condition?: (stem: string, r2: number) => boolean];

/** Rules with the longest suffix first. The first matching suffix decides, even if its condition does not hold. */
const STEP_2: readonly Rule[] = [
  ['ational', 'ate'],
  ['fulness', 'ful'],
  ['iveness', 'ive'],
  ['ization', 'ize'],
  ['ousness', 'ous'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['tional', 'tion'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ation', 'ate'],
  ['entli', 'ent'],
  ['fulli', 'ful'],
  ['iviti', 'ive'],
  ['ousli', 'ous'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['anci', 'ance'],
  ['ator', 'ate'],
  ['enci', 'ence'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['ogi', 'og', (stem) => stem.endsWith('l')],
  ['li', '', (stem) => LI_ENDINGS.includes(stem.charAt(stem.length - 1)) && stem !== ''],
];
const STEP_3: readonly Rule[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['ative', '', (stem, r2) => stem.length >= r2],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
];
const STEP_4: readonly Rule[] = [
  ['ement', ''],
  ['able', ''],
  ['ance', ''],
  ['ence', ''],
  ['ible', ''],
  ['ment', ''],
  ['ant', ''],
  ['ate', ''],
  ['ent', ''],
  ['ion', '', (stem) => stem.endsWith('s') || stem.endsWith('t')],
  ['ism', ''],
  ['iti', ''],
  ['ive', ''],
  ['ize', ''],
  ['ous', ''],
  ['al', ''],
  ['er', ''],
  ['ic', ''],
];

/** Return the stem of one lower-case word of a–z, in time linear in its length. */
export function stemEnglish(word: string): string {
  if (word.length < 3) return word;
  const exception = EXCEPTIONS.get(word);
  if (exception !== undefined) return exception;
  let w = markConsonantY(word);
  const r1 = regionOne(w);
  const r2 = regionAfter(w, r1);
  w = dropPlural(w);
  if (UNCHANGED_AFTER_PLURAL.has(w)) return w;
  w = dropPastAndGerund(w, r1);
  if (/.[^aeiouy][yY]$/.test(w)) w = `${w.slice(0, -1)}i`;
  w = apply(STEP_2, w, r1, r2);
  w = apply(STEP_3, w, r1, r2);
  w = apply(STEP_4, w, r2, r2);
  return dropFinal(w, r1, r2).replaceAll('Y', 'y');
}

/**
 * List beginnings such that every word with a stem has one of them. Rules change only endings. Only the last two
 * letters of a stem can differ from the word (`possibl` of `possibility`), and no rule changes the first two letters.
 */
export function beginningsOfWords(stem: string): string[] {
  const otherwise = WORDS_BEGINNING_OTHERWISE.get(stem);
  return [stem.slice(0, Math.max(2, stem.length - 2)), ...(otherwise === undefined ? [] : [otherwise])];
}

/** Write a consonant `y` as `Y`, to distinguish it from a vowel. */
function markConsonantY(word: string): string {
  if (!word.includes('y')) return word;
  let marked = '';
  for (let i = 0; i < word.length; i++) {
    const before = marked.charAt(i - 1);
    marked += word[i] === 'y' && (i === 0 || (before !== '' && VOWELS.includes(before))) ? 'Y' : word.charAt(i);
  }
  return marked;
}

function isVowel(w: string, at: number): boolean {
  return at >= 0 && at < w.length && VOWELS.includes(w.charAt(at));
}

function regionOne(w: string): number {
  for (const prefix of LONG_PREFIXES) if (w.startsWith(prefix)) return prefix.length;
  return regionAfter(w, 0);
}

/** Return the position after the first consonant that follows a vowel, searched from `from`. */
function regionAfter(w: string, from: number): number {
  for (let i = from + 1; i < w.length; i++) if (!isVowel(w, i) && isVowel(w, i - 1)) return i + 1;
  return w.length;
}

function hasVowel(w: string): boolean {
  for (let i = 0; i < w.length; i++) if (isVowel(w, i)) return true;
  return false;
}

function endsInShortSyllable(w: string): boolean {
  const last = w.length - 1;
  if (last === 1) return isVowel(w, 0) && !isVowel(w, 1);
  return (
    last > 1 && !isVowel(w, last) && !'wxY'.includes(w.charAt(last)) && isVowel(w, last - 1) && !isVowel(w, last - 2)
  );
}

function dropPlural(w: string): string {
  if (w.endsWith('sses')) return w.slice(0, -2);
  if (w.endsWith('ied') || w.endsWith('ies')) return w.length > 4 ? w.slice(0, -2) : w.slice(0, -1);
  if (w.endsWith('us') || w.endsWith('ss')) return w;
  if (w.endsWith('s') && hasVowel(w.slice(0, -2))) return w.slice(0, -1);
  return w;
}

function dropPastAndGerund(w: string, r1: number): string {
  for (const suffix of ['eedly', 'eed']) {
    if (w.endsWith(suffix)) return w.length - suffix.length >= r1 ? `${w.slice(0, -suffix.length)}ee` : w;
  }
  const suffix = ['ingly', 'edly', 'ing', 'ed'].find((ending) => w.endsWith(ending));
  if (suffix === undefined) return w;
  const stem = w.slice(0, -suffix.length);
  if (!hasVowel(stem)) return w;
  if (stem.endsWith('at') || stem.endsWith('bl') || stem.endsWith('iz')) return `${stem}e`;
  const last = stem.charAt(stem.length - 1);
  if (DOUBLES.includes(last) && stem.charAt(stem.length - 2) === last) return stem.slice(0, -1);
  return r1 >= stem.length && endsInShortSyllable(stem) ? `${stem}e` : stem;
}

function apply(rules: readonly Rule[], w: string, region: number, r2: number): string {
  for (const [suffix, replacement, condition] of rules) {
    if (!w.endsWith(suffix)) continue;
    const stem = w.slice(0, -suffix.length);
    return stem.length >= region && (condition === undefined || condition(stem, r2)) ? stem + replacement : w;
  }
  return w;
}

function dropFinal(w: string, r1: number, r2: number): string {
  const stem = w.slice(0, -1);
  if (w.endsWith('e')) {
    return stem.length >= r2 || (stem.length >= r1 && !endsInShortSyllable(stem)) ? stem : w;
  }
  return w.endsWith('ll') && stem.length >= r2 ? stem : w;
}
