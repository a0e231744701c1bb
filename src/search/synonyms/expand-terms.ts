import { analyseQueryText, type WeightedTerms } from '../../language/analyser.ts';

/** Maximum number of terms that synonyms add to a query. Each costs as much as a query word. */
const ADDED_TERMS_MAX = 64;
const WEIGHT_MAX = 8;

/** Analysed phrase, with the other phrases of its group. */
interface Phrase {
  readonly terms: readonly string[];
  readonly others: readonly (readonly string[])[];
}

/** Phrase of a query, and equivalent lists of other terms. */
export interface Alternatives {
  readonly phrase: readonly string[];
  readonly others: readonly (readonly string[])[];
  /** Weight factor of the other terms: above 0, at most 1 (default). */
  readonly share?: number;
}

/** Analysed synonyms of a bucket: phrases by their first term. */
export type Synonyms = ReadonlyMap<string, readonly Phrase[]>;

export function compileSynonyms(groups: readonly (readonly string[])[]): Synonyms {
  const byFirst = new Map<string, Phrase[]>();
  for (const group of groups) {
    const phrases = group.map((phrase) => analyseQueryText(phrase)).filter(({ length }) => length > 0);
    for (const terms of phrases) {
      const first = terms[0] as string;
      const others = phrases.filter((other) => other !== terms);
      byFirst.set(first, [...(byFirst.get(first) ?? []), { terms, others }]);
    }
  }
  return byFirst;
}

/** Find the phrases of a query that have synonyms. @param sequence query terms in order */
export function findAlternatives(sequence: readonly string[], synonyms: Synonyms): Alternatives[] {
  const found = new Set<Phrase>();
  for (const [at, first] of sequence.entries()) {
    for (const phrase of synonyms.get(first) ?? []) {
      if (phrase.terms.every((term, nth) => sequence[at + nth] === term)) found.add(phrase);
    }
  }
  return [...found].map(({ terms, others }) => ({ phrase: terms, others }));
}

/**
 * Add the synonyms of a query's phrases to its terms. The words of a synonym together weigh as much as its phrase.
 * Return null if no phrase of the query has a synonym.
 *
 * @param weighted query terms from `weighTerms`
 */
export function expandTerms(
  weighted: readonly WeightedTerms[],
  alternatives: readonly Alternatives[],
): WeightedTerms[] | null {
  const own = new Set(weighted.flatMap(({ terms }) => terms));
  const added = new Map<string, number>();
  for (const { phrase, others, share = 1 } of alternatives) {
    for (const other of others) {
      const weight = share * Math.min(WEIGHT_MAX, phrase.length / other.length);
      for (const term of other) {
        if (own.has(term) || (added.size >= ADDED_TERMS_MAX && !added.has(term))) continue;
        added.set(term, Math.max(added.get(term) ?? 0, weight));
      }
    }
  }
  if (added.size === 0) return null;
  const byWeight = new Map(weighted.map(({ terms, weight }) => [weight, [...terms]]));
  for (const [term, weight] of added) byWeight.set(weight, [...(byWeight.get(weight) ?? []), term]);
  return [...byWeight].sort(([a], [b]) => b - a).map(([weight, terms]) => ({ terms, weight }));
}
