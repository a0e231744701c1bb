import { analyse } from './analyser.ts';
import type { Range } from './sentences.ts';
import type { StemmedLanguage } from './stemmers.ts';
import { languageOfText } from './text-language.ts';

const WORD_CHARACTER = '[\\p{L}\\p{N}\\p{M}]';
/** Words with the characters that join their parts, as the analyser reads them. */
const WORDS = new RegExp(`${WORD_CHARACTER}+(?:[-'’._/,&]${WORD_CHARACTER}+)*(?:\\+\\+|#)?`, 'gu');
/** Parts of a word: runs of a script without spaces, of Hangul, or of all other characters. */
const PARTS =
  /(?<dense>[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+)|\p{sc=Hangul}+|[^\-'’._/,&\p{sc=Hangul}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;

/** Terms of a query in a range of a text. */
export interface LocatedTerms extends Range {
  readonly terms: readonly string[];
}

/**
 * Find the words of a text that contain a term of a query, in order. For a compound, return the parts with a term, or
 * the whole if only it has one. In scripts without spaces, return the characters of the terms.
 */
export function locateTerms(text: string, wanted: ReadonlySet<string>): LocatedTerms[] {
  const located: LocatedTerms[] = [];
  const language = languageOfText(text);
  for (const { 0: word, index } of text.matchAll(WORDS)) {
    const terms = termsIn(word, wanted, language);
    if (terms.length === 0) continue;
    const parts = [...word.matchAll(PARTS)].flatMap((part) =>
      part.groups?.['dense'] === undefined
        ? locatePart(part[0], index + part.index, { wanted, language })
        : locateDense(part[0], index + part.index, wanted),
    );
    located.push(...(parts.length > 0 ? parts : [{ start: index, end: index + word.length, terms }]));
  }
  return located;
}

function locatePart(
  part: string,
  start: number,
  { wanted, language }: { readonly wanted: ReadonlySet<string>; readonly language: StemmedLanguage | null },
): LocatedTerms[] {
  const terms = termsIn(part, wanted, language);
  return terms.length === 0 ? [] : [{ start, end: start + part.length, terms }];
}

/** Find the terms in a run of a script without spaces, and join overlapping and adjacent ones. */
function locateDense(run: string, start: number, wanted: ReadonlySet<string>): LocatedTerms[] {
  const located: { start: number; end: number; terms: string[] }[] = [];
  const characters = [...run];
  const lengths = [...new Set([...wanted].map((term) => [...term].length))].sort((a, b) => b - a);
  // A single character is a word only if it stands alone.
  const lengthMin = Math.min(2, characters.length);
  let at = start;
  for (const [nth, character] of characters.entries()) {
    for (const length of lengths) {
      const found = characters.slice(nth, nth + length).join('');
      const term = found.normalize('NFKC').toLowerCase();
      if (length < lengthMin || nth + length > characters.length || !wanted.has(term)) continue;
      const end = at + found.length;
      const last = located.at(-1);
      if (last && last.end >= at) {
        last.end = Math.max(last.end, end);
        last.terms.push(term);
      } else located.push({ start: at, end, terms: [term] });
    }
    at += character.length;
  }
  return located;
}

/** Find the wanted terms of a word in a text, by stems of the text's language and by English stems. */
function termsIn(word: string, wanted: ReadonlySet<string>, language: StemmedLanguage | null): string[] {
  const terms = language === null ? [] : analyse(word, language);
  return [...new Set([...terms, ...analyse(word, null)])].filter((term) => wanted.has(term));
}
