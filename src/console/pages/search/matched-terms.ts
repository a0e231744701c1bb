import type { SearchResult } from '../../types.ts';

/** Minimum length of a marked word, except in scripts without spaces between words. */
const LATIN_CHARS_MIN = 2;
const TERMS_MAX = 40;

/** List the distinct words of a query, in lower case. */
function termsOf(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const long = words.filter((word) => word.length >= LATIN_CHARS_MIN || /[^\p{Script=Latin}\p{N}]/u.test(word));
  return [...new Set(long)].slice(0, TERMS_MAX);
}

/** Return the words of a result that matched the query, from its explanation or else the query as written. */
export function findWords({ text, explain }: SearchResult, query: string): string[] {
  if (explain?.keyword) return explain.keyword.terms.flatMap(({ words }) => words);
  const lower = text.toLowerCase();
  return termsOf(query).filter((term) => lower.includes(term));
}

export interface MarkedPart {
  readonly part: string;
  readonly isTerm: boolean;
  readonly at: number;
}

export function markWords(text: string, words: readonly string[]): MarkedPart[] {
  if (words.length === 0) return [{ part: text, isTerm: false, at: 0 }];
  const longestFirst = words.toSorted((a, b) => b.length - a.length);
  // Put longer words first, so that no word is highlighted as the beginning of another.
  const pattern = new RegExp(`(${longestFirst.map(escapePattern).join('|')})`, 'giu');
  let at = 0;
  return text.split(pattern).flatMap((part, index) => {
    const place = at;
    at += part.length;
    return part === '' ? [] : [{ part, isTerm: index % 2 === 1, at: place }];
  });
}

/** Escape the special characters of a pattern. */
function escapePattern(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
