/** Words shorter than this are not marked, but for those of scripts without spaces between words. */
const LATIN_CHARS_MIN = 2;
const TERMS_MAX = 40;

/** Words of a query, in lower case, each once. */
function termsOf(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const long = words.filter((word) => word.length >= LATIN_CHARS_MIN || /[^\p{Script=Latin}\p{N}]/u.test(word));
  return [...new Set(long)].slice(0, TERMS_MAX);
}

/** Find the words of a query that occur in a text as they are written. */
export function findTerms(text: string, query: string): string[] {
  const lower = text.toLowerCase();
  return termsOf(query).filter((term) => lower.includes(term));
}

export interface MarkedPart {
  readonly part: string;
  readonly isTerm: boolean;
  readonly at: number;
}

/** Split a text at the words of a query. */
export function markTerms(text: string, query: string): MarkedPart[] {
  const terms = findTerms(text, query).toSorted((a, b) => b.length - a.length);
  if (terms.length === 0) return [{ part: text, isTerm: false, at: 0 }];
  // The terms are letters and digits, which mean themselves in a pattern.
  const pattern = new RegExp(`(${terms.map((term) => term).join('|')})`, 'giu');
  let at = 0;
  return text.split(pattern).flatMap((part, index) => {
    const place = at;
    at += part.length;
    return part === '' ? [] : [{ part, isTerm: index % 2 === 1, at: place }];
  });
}
