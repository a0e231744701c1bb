import { FUNCTION_WORDS } from './function-words.ts';
import { indexWordTerms } from './index-terms.ts';
import { languagesOfQuery } from './text-language.ts';
import { findWords } from './words.ts';

/** Terms of a word in a query, and its terms in texts of other languages. */
export interface StemForms {
  readonly phrase: readonly string[];
  readonly others: readonly (readonly string[])[];
  /** Factor of the weight of the others. */
  readonly share: number;
}

/** Maximum number of words to stem in one query. */
const WORDS_MAX = 64;
/** Share of the stems of a language that the query may not have. Some of them are stems of other English words. */
const UNSURE_SHARE = 0.5;

/**
 * Find the words of a query whose stem in another language differs from the English one. The index has the stems of the
 * language of each text, so a query looks for both. Leave out the function words of the query's language.
 */
export function findStemForms(query: string): StemForms[] {
  const { likely, possible } = languagesOfQuery(query);
  if (possible.length === 0) return [];
  const share = likely === null ? UNSURE_SHARE : 1;
  const functionWords = likely === null ? null : FUNCTION_WORDS.get(likely);
  const found: StemForms[] = [];
  for (const word of new Set(findWords(query).slice(0, WORDS_MAX))) {
    if (functionWords?.has(word)) continue;
    const phrase = indexWordTerms(word, null);
    if (phrase.length === 0) continue;
    const others = new Map<string, readonly string[]>();
    for (const language of possible) {
      const terms = indexWordTerms(word, language);
      if (terms.some((term) => !phrase.includes(term))) others.set(terms.join(' '), terms);
    }
    if (others.size > 0) found.push({ phrase, others: [...others.values()], share });
  }
  return found;
}
