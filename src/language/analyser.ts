import { FUNCTION_WORDS } from './function-words.ts';
import { indexTerms } from './index-terms.ts';
import { findStemForms } from './stem-forms.ts';
import type { StemmedLanguage } from './stemmers.ts';
import { languageOfText } from './text-language.ts';

/** Maximum number of query terms. LanceDB takes about 1 ms per 30 terms. */
const QUERY_TERMS_MAX = 1_024;
/** Maximum weight of a term, since each weight is a separate clause of the index query. */
const TERM_WEIGHT_MAX = 8;
/** Weight factor of a function word. */
const FUNCTION_WEIGHT = 0.1;
/**
 * Weight factors of a term that is a whole word, in a query that also has words in Hangul or in a script without
 * spaces. The latter have several terms each, and would otherwise count several times as much.
 */
const WHOLE_BESIDE_HANGUL_WEIGHT = 2;
const WHOLE_BESIDE_DENSE_WEIGHT = 5;
/** Weight factors of long words, which the index contains both whole and in pieces. */
const LONG_HANGUL_WEIGHT = 2;
const LONG_DENSE_WEIGHT = 1.5;
const HANGUL = /\p{sc=Hangul}/u;
const LONG_HANGUL = /^\p{sc=Hangul}{5,}$/u;
const DENSE = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}ー\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]';
const HAS_DENSE = new RegExp(DENSE, 'u');
const LONG_DENSE = new RegExp(`^${DENSE}{4,}$`, 'u');

/**
 * Extract the terms that keyword search matches from a chunk. The index stores them joined by single spaces, in a
 * column with a whitespace tokenizer. The rules are in `index-terms.ts`.
 *
 * @param language of the stems; by default the language of the text, which is null for English
 */
export function analyse(text: string, language: StemmedLanguage | null = languageOfText(text)): string[] {
  return indexTerms(text, language);
}

/**
 * Extract the terms of a query, or of a phrase that queries may contain, in its order. Latin-script words get English
 * stems, since a short query doesn't reveal its language. `findStemForms` returns the stems of other languages.
 */
export function analyseQueryText(query: string): string[] {
  return indexTerms(query, null);
}

/** Return all terms that texts may have for the words of a query. */
export function matchingTerms(query: string): Set<string> {
  const forms = findStemForms(query).flatMap(({ others }) => others.flat());
  return new Set([...analyseQueryText(query), ...forms]);
}

/** Query terms with the same weight. */
export interface WeightedTerms {
  readonly terms: readonly string[];
  /**
   * Factor of each term's BM25 score: its number of occurrences in the query, 1 to 8, or a tenth of it for a function
   * word.
   */
  readonly weight: number;
}

/**
 * Group the distinct terms of a query by their weight, largest first. BM25 multiplies the score of a term by its
 * frequency in the query, while LanceDB counts each distinct term once. Function words weigh a tenth. In a small bucket
 * they are so rare that they would outweigh the meaningful words.
 *
 * @param terms the result of `analyseQueryText`
 * @param language likely language of the query; null for English or unknown
 */
export function weighTerms(terms: readonly string[], language: StemmedLanguage | null = null): WeightedTerms[] {
  const counts = new Map<string, number>();
  for (const term of terms) {
    const count = counts.get(term);
    if (count !== undefined || counts.size < QUERY_TERMS_MAX) counts.set(term, (count ?? 0) + 1);
  }
  const functionTerms = functionTermsIn(counts, language);
  const factorOf = factorsFor(terms);
  const groups = new Map<number, string[]>();
  for (const [term, count] of counts) {
    const weight = Math.min(count, TERM_WEIGHT_MAX) * (functionTerms.has(term) ? FUNCTION_WEIGHT : factorOf(term));
    groups.set(weight, [...(groups.get(weight) ?? []), term]);
  }
  return [...groups].sort(([a], [b]) => b - a).map(([weight, members]) => ({ terms: members, weight }));
}

/** Create a function that returns the weight factor of a term among the terms of a query. */
function factorsFor(terms: readonly string[]): (term: string) => number {
  const hasDense = terms.some((term) => HAS_DENSE.test(term));
  if (!hasDense && !terms.some((term) => HANGUL.test(term))) return () => 1;
  const whole = hasDense ? WHOLE_BESIDE_DENSE_WEIGHT : WHOLE_BESIDE_HANGUL_WEIGHT;
  return (term) => {
    if (HAS_DENSE.test(term)) return LONG_DENSE.test(term) ? LONG_DENSE_WEIGHT : 1;
    if (HANGUL.test(term)) return LONG_HANGUL.test(term) ? LONG_HANGUL_WEIGHT : 1;
    return whole;
  };
}

const functionTermsOf = new Map<string, ReadonlySet<string>>();

/** Find the function words of a query: those of its language and Russian ones. Find none if it has no other words. */
function functionTermsIn(terms: ReadonlyMap<string, number>, language: StemmedLanguage | null): ReadonlySet<string> {
  const found = new Set<string>();
  for (const each of language === null ? (['ru'] as const) : (['ru', language] as const)) {
    let known = functionTermsOf.get(each);
    if (known === undefined) {
      known = new Set([...(FUNCTION_WORDS.get(each) ?? [])].flatMap((word) => analyseQueryText(word)));
      functionTermsOf.set(each, known);
    }
    for (const term of terms.keys()) if (known.has(term)) found.add(term);
  }
  return found.size < terms.size ? found : new Set();
}
