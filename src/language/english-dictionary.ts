import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import nspell from 'nspell';

const require = createRequire(import.meta.url);

/** Minimum length of the parts of a compound. Most misspelled words contain shorter parts. */
const PART_MIN = 4;

/** American and British dictionaries, loaded on the first look-up. */
let dictionaries: ReturnType<typeof nspell>[] | null = null;

/**
 * Return true for an English word (or name) in lower case, in American or British spelling. The first call reads the
 * dictionaries, which takes some 0.4 s and 35 MB.
 */
export function isEnglishWord(word: string): boolean {
  dictionaries ??= [require.resolve('dictionary-en'), require.resolve('dictionary-en-gb')].map(readDictionary);
  const capitalised = word.charAt(0).toUpperCase() + word.slice(1);
  return dictionaries.some((dictionary) => dictionary.correct(word) || dictionary.correct(capitalised));
}

/** Return true for a word in lower case that joins two English words: `datetime`, `hypersonic`. */
export function isEnglishCompound(word: string): boolean {
  for (let at = PART_MIN; at <= word.length - PART_MIN; at++) {
    if (isEnglishWord(word.slice(0, at)) && isEnglishWord(word.slice(at))) return true;
  }
  return false;
}

/** @param main path of the module of its package */
function readDictionary(main: string) {
  const read = (file: string) => readFileSync(path.join(path.dirname(main), file));
  return nspell({ aff: read('index.aff'), dic: read('index.dic') });
}
