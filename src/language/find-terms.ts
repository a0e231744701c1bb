import { beginningsOfWords } from './english-stem.ts';
import { indexTerms, indexWordTerms } from './index-terms.ts';
import { languageOfText } from './text-language.ts';

/** Term of a script whose words are cut into pieces. */
const PAIR =
  /^[\p{sc=Hangul}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+$/u;
const HANGUL = /[가-힣]+/g;
const NOT_ASCII = /[^\0-\x7f]/g;
const SPACE = /\s/;
/** ASCII words with terms that may begin differently from all parts of the word: `x-ray`, `u.s.a`, `1,000`. */
const JOINED_OTHERWISE = /(?<![a-z0-9])[a-z][-._/&][a-z]|\d,\d/g;
/** Kinds of word characters: ASCII letters and digits, joining characters, and everything beyond ASCII. */
const LETTER_OR_DIGIT = 1;
const JOINING = 2;
const BEYOND_ASCII = 4;
/** Kinds of the ASCII characters; 0 for characters outside of words. */
const WORD_CHARACTERS = new Uint8Array(128);
for (const character of 'abcdefghijklmnopqrstuvwxyz0123456789')
  WORD_CHARACTERS[character.charCodeAt(0)] = LETTER_OR_DIGIT;
for (const character of `-'._/,&+#`) WORD_CHARACTERS[character.charCodeAt(0)] = JOINING;

/**
 * Create a function that finds the terms in a text much faster than a full analysis. It searches for pieces of words
 * directly, so it also finds a piece within an ending. It analyses only ASCII words with a part that begins like a
 * wanted term.
 */
export function termFinder(wanted: ReadonlySet<string>): (text: string) => Set<string> {
  const pairs = [...wanted].filter((term) => PAIR.test(term));
  const words = [...wanted].filter((term) => !PAIR.test(term));
  const beginnings = words.flatMap((term) => beginningsOf(term).map((beginning) => ({ term, beginning })));
  return (text) => {
    const composed = text.normalize('NFC');
    const found = new Set(pairs.filter((term) => composed.includes(term)));
    if (words.length === 0) return found;
    const language = languageOfText(composed);
    if (language !== null) {
      for (const term of indexTerms(composed, language)) if (wanted.has(term)) found.add(term);
      return found;
    }
    const plain = composed.replace(HANGUL, ' ');
    const note = (terms: readonly string[]) => {
      for (const term of terms) if (wanted.has(term)) found.add(term);
    };
    const others = partsBeyondAscii(plain);
    if (others !== '') note(indexTerms(others, null));
    findInAscii(plain.toLowerCase(), beginnings, { found, note });
    return found;
  };
}

/**
 * List the ASCII beginnings of a term. Except for `JOINED_OTHERWISE`, words with the term have a part with such a
 * beginning.
 */
function beginningsOf(term: string): string[] {
  if (term.search(NOT_ASCII) >= 0) return [];
  return /^[a-z]+$/.test(term) ? beginningsOfWords(term) : [term];
}

/** Return the words with non-ASCII characters, joined by spaces. No term extends over a space. */
function partsBeyondAscii(text: string): string {
  let parts = '';
  for (NOT_ASCII.lastIndex = 0; NOT_ASCII.test(text); ) {
    let from = NOT_ASCII.lastIndex - 1;
    let end = from + 1;
    while (from > 0 && !SPACE.test(text.charAt(from - 1))) from--;
    while (end < text.length && !SPACE.test(text.charAt(end))) end++;
    parts += `${text.slice(from, end)} `;
    NOT_ASCII.lastIndex = end;
  }
  return parts;
}

/** Find terms in the ASCII words of a lower-case text. @param into.note gets terms of such words */
function findInAscii(
  text: string,
  beginnings: readonly { readonly term: string; readonly beginning: string }[],
  { found, note }: { readonly found: ReadonlySet<string>; readonly note: (terms: readonly string[]) => void },
): void {
  const noted = new Set<number>();
  /** @returns end of the word at a position */
  const noteAt = (at: number): number => {
    let [from, end] = [at, at];
    let kinds = 0;
    const isWithin = (place: number) => {
      const code = text.charCodeAt(place);
      const kind = code > 127 ? BEYOND_ASCII : (WORD_CHARACTERS[code] as number);
      kinds |= kind;
      return kind !== 0;
    };
    while (from > 0 && isWithin(from - 1)) from--;
    while (end < text.length && isWithin(end)) end++;
    // Words with non-ASCII characters are in the parts already analysed.
    if (kinds >= BEYOND_ASCII || noted.has(from)) return end;
    noted.add(from);
    const word = text.slice(from, end);
    note(kinds === LETTER_OR_DIGIT ? indexWordTerms(word, null) : indexTerms(word, null));
    return end;
  };
  let end = 0;
  for (const { index } of text.matchAll(JOINED_OTHERWISE)) if (index >= end) end = noteAt(index);
  for (const { term, beginning } of beginnings) {
    for (let at = text.indexOf(beginning); at >= 0 && !found.has(term); ) {
      const isBeginning = at === 0 || WORD_CHARACTERS[text.charCodeAt(at - 1)] !== LETTER_OR_DIGIT;
      at = text.indexOf(beginning, isBeginning ? noteAt(at) : at + 1);
    }
  }
}
