import { analyseQueryText, type WeightedTerms, weighTerms } from '../language/analyser.ts';
import { findCodeForms } from '../language/code-forms.ts';
import { findStemForms } from '../language/stem-forms.ts';
import type { StemmedLanguage } from '../language/stemmers.ts';
import { languagesOfQuery } from '../language/text-language.ts';
import { findVerbForms } from '../language/verb-terms.ts';
import { termsOf } from '../language/words.ts';
import { type Alternatives, expandTerms, findAlternatives } from './synonyms/expand-terms.ts';
import type { SearchedIndex } from './synonyms/synonym-cache.ts';

/** Query terms for the keyword leg. */
export interface AnalysedQuery {
  /** Likely language; null for English or unknown. */
  readonly language: StemmedLanguage | null;
  /** True if the built-in model embeds the query from the terms that the index uses. */
  readonly isModelled: boolean;
  /** Analysed terms in query order. */
  readonly sequence: readonly string[];
  /** The same terms without repeats, with their weights. */
  readonly terms: readonly WeightedTerms[];
  /** Terms that replace `terms` in a table, by table name: they include other forms and the bucket's synonyms. */
  readonly ownTerms: ReadonlyMap<string, readonly WeightedTerms[]>;
  /** Phrases of the query with other forms, or with synonyms in one of the buckets. */
  readonly alternatives: readonly Alternatives[];
}

/**
 * Analyse a query, and expand its terms by other forms of codes and verbs, by stems of other languages, and by the
 * synonyms of each bucket.
 */
export function analyseQuery(query: string, indexes: readonly SearchedIndex[]): AnalysedQuery {
  const language = languagesOfQuery(query).likely;
  const sequence = analyseQueryText(query);
  const terms = weighTerms(sequence, language);
  const forms: Alternatives[] = [...findCodeForms(query), ...findVerbForms(query)];
  const stems = findStemForms(query);
  const alternatives = [...forms, ...stems];
  const ownTerms = new Map<string, readonly WeightedTerms[]>();
  for (const { indexTable, synonyms } of indexes) {
    if (indexTable === null || (synonyms === null && forms.length + stems.length === 0)) continue;
    const own = synonyms === null ? [] : findAlternatives(sequence, synonyms);
    const expanded = expandTerms(terms, [...forms, ...own, ...stems]);
    if (expanded) ownTerms.set(indexTable.name, expanded);
    alternatives.push(...own);
  }
  return {
    language,
    isModelled: language === null && isEqual(termsOf(query), sequence),
    sequence,
    terms,
    ownTerms,
    alternatives,
  };
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((term, at) => term === other[at]);
}
