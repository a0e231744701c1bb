import { ENGLISH_COMMON_WORDS } from './english-words.ts';
import { KOREAN_COMMON_WORDS } from './korean.ts';
import { termsOf } from './words.ts';

/** Terms of common words, created on the first look-up. */
let commonTerms: ReadonlySet<string> | null = null;

/** Return true for a term of a word that is common in all English or Korean writing. */
export function isCommonTerm(term: string): boolean {
  commonTerms ??= new Set([...ENGLISH_COMMON_WORDS, ...KOREAN_COMMON_WORDS].flatMap((word) => termsOf(word)));
  return commonTerms.has(term);
}
