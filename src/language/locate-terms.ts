import { analyse } from './analyser.ts';
import type { Range } from './sentences.ts';

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
 * Find the words of a text that have a term of a query, in order. Return the parts of a compound with a term, or the
 * whole if only that has one. In scripts without spaces return the characters of the terms.
 */
export function locateTerms(text: string, wanted: ReadonlySet<string>): LocatedTerms[] {
  const located: LocatedTerms[] = [];
  for (const { 0: word, index } of text.matchAll(WORDS)) {
    const terms = termsIn(word, wanted);
    if (terms.length === 0) continue;
    const parts = [...word.matchAll(PARTS)].flatMap((part) =>
      part.groups?.['dense'] === undefined
        ? locatePart(part[0], index + part.index, wanted)
        : locatePairs(part[0], index + part.index, wanted),
    );
    located.push(...(parts.length > 0 ? parts : [{ start: index, end: index + word.length, terms }]));
  }
  return located;
}

function locatePart(part: string, start: number, wanted: ReadonlySet<string>): LocatedTerms[] {
  const terms = termsIn(part, wanted);
  return terms.length === 0 ? [] : [{ start, end: start + part.length, terms }];
}

/** Find pairs of characters that are terms, and join adjacent ones. */
function locatePairs(run: string, start: number, wanted: ReadonlySet<string>): LocatedTerms[] {
  const located: { start: number; end: number; terms: string[] }[] = [];
  const characters = [...run];
  let at = start;
  for (const [nth, character] of characters.entries()) {
    const next = characters[nth + 1] ?? '';
    const terms = termsIn(character + next, wanted);
    const end = at + character.length + next.length;
    const last = located.at(-1);
    if (terms.length > 0 && (next !== '' || characters.length === 1)) {
      if (last && last.end >= at) {
        last.end = end;
        last.terms.push(...terms);
      } else located.push({ start: at, end, terms });
    }
    at += character.length;
  }
  return located;
}

function termsIn(text: string, wanted: ReadonlySet<string>): string[] {
  return analyse(text).filter((term) => wanted.has(term));
}
