import { FUNCTION_WORDS } from './function-words.ts';
import { indexWordTerms } from './index-terms.ts';
import { STEMMED_LANGUAGES, type StemmedLanguage } from './stemmers.ts';
import { languagesOfQuery } from './text-language.ts';
import { findWords } from './words.ts';

/** Terms of a word in a query, and its terms in texts of other languages. */
export interface StemForms {
  readonly phrase: readonly string[];
  readonly others: readonly (readonly string[])[];
  /** Weight factor of the other terms. */
  readonly share: number;
}

/** Maximum number of words to stem in one query. */
const WORDS_MAX = 64;
const HAS_LATIN = /\p{sc=Latin}/u;
/** Weight factor for stems of a language that the query may have. Some are also stems of other English words. */
const UNSURE_SHARE = 0.5;
/** Weight factor for stems of all other languages, so that a name in the query still finds texts in any language. */
const OTHER_SHARE = 0.1;

/**
 * Find the words of a query whose stem in another language differs from the English one. The index contains stems by
 * the language of each text, so a query looks for all of them. Omit function words of the query's language.
 */
export function findStemForms(query: string): StemForms[] {
  const { likely, possible } = languagesOfQuery(query);
  const functionWords = likely === null ? null : FUNCTION_WORDS.get(likely);
  const found: StemForms[] = [];
  for (const word of new Set(findWords(query).slice(0, WORDS_MAX))) {
    if (!HAS_LATIN.test(word) || functionWords?.has(word)) continue;
    const phrase = indexWordTerms(word, null);
    if (phrase.length === 0) continue;
    const seen = new Set([phrase.join(' ')]);
    const add = (languages: readonly StemmedLanguage[], share: number) => {
      const others = languages.map((language) => indexWordTerms(word, language)).filter((terms) => isNew(seen, terms));
      if (others.length > 0) found.push({ phrase, others, share });
    };
    add(possible, likely === null ? UNSURE_SHARE : 1);
    add(
      STEMMED_LANGUAGES.filter((language) => !possible.includes(language)),
      OTHER_SHARE,
    );
  }
  // Put the most important terms first, since their number is limited.
  return found.sort((a, b) => b.share - a.share);
}

function isNew(seen: Set<string>, terms: readonly string[]): boolean {
  const key = terms.join(' ');
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}
