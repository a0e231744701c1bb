import { finalOf } from './hangul.ts';
import { indexTerms } from './index-terms.ts';
import { inflectDictionaryForm, inflectNominal } from './korean-verbs.ts';
import { syllablePairs } from './spelled-words.ts';

/** Terms of a Korean verb in a query, and the terms of its inflected forms. */
export interface VerbTerms {
  readonly phrase: readonly string[];
  readonly others: readonly (readonly string[])[];
  /** Weight factor of the other terms. */
  readonly share: number;
}

/** Maximum number of verbs to conjugate in one query. */
const VERBS_MAX = 4;
/** Weight factor of forms that are often other words, so that texts with a clear form of the verb rank first. */
const DOUBTFUL_SHARE = 0.5;

/** Endings that the analyser removes completely: of verbs derived from nouns (공부하다), and particles (학교보다). */
const REMOVED_WHOLE = /.(?:하|되|시키|보|마|에)다$/;

/**
 * Find the verbs and adjectives of a query that are in the dictionary form (마시다), and nouns in ㅁ that come from verbs
 * (끊김). Return the terms by which the index has their inflected forms (마셨다, 끊겼습니다). The analyser determines these
 * terms, as for the index.
 */
export function findVerbForms(query: string): VerbTerms[] {
  const found: VerbTerms[] = [];
  const seen = new Set<string>();
  for (const [word] of query.normalize('NFKC').matchAll(/[가-힣]+/g)) {
    if (seen.has(word) || seen.size === VERBS_MAX || REMOVED_WHOLE.test(word)) continue;
    const stemLength = word.endsWith('다') ? word.length - 1 : word.length;
    const forms = inflectDictionaryForm(word) ?? inflectNominal(word);
    const phrase = indexedTerms(word);
    if (forms === null || phrase.length === 0) continue;
    seen.add(word);
    const isClear = (terms: readonly string[]) => terms.every((term) => term.length > 1 || finalOf(term) === 'ㅆ');
    const clear = forms.clear.flatMap((form) => termsOfForm(form, stemLength));
    const doubtful = forms.doubtful.flatMap((form) => termsOfForm(form, stemLength));
    const others = distinct(clear.filter(isClear));
    if (others.length > 0) found.push({ phrase, others, share: 1 });
    const rest = distinct([...clear.filter((terms) => !isClear(terms)), ...doubtful]);
    if (rest.length > 0) found.push({ phrase, others: rest, share: DOUBTFUL_SHARE });
  }
  return found;
}

/**
 * Return the terms that the index may have for a form: those of its beginning, since words with other endings begin
 * alike (도와주다), and those of the whole word if the analyser cuts it shorter.
 */
function termsOfForm(form: string, stemLength: number): (readonly string[])[] {
  const beginning = syllablePairs(form.slice(0, Math.max(2, stemLength)));
  const whole = indexedTerms(form);
  const isShort = whole.length > 0 && whole.length <= beginning.length && whole[0] !== beginning[0];
  return [beginning, ...(isShort || stemLength === 1 ? [whole] : [])].filter((terms) => terms.length > 0);
}

function indexedTerms(word: string): string[] {
  return indexTerms(word, null);
}

function distinct(lists: readonly (readonly string[])[]): (readonly string[])[] {
  return [...new Map(lists.map((terms) => [terms.join(' '), terms])).values()];
}
