import { analyseQueryText } from '../language/analyser.ts';
import { termFinder } from '../language/find-terms.ts';
import { type LocatedTerms, locateTerms } from '../language/locate-terms.ts';
import { findStemForms } from '../language/stem-forms.ts';
import { type Highlight, highlightLocated } from '../search/results/highlight.ts';
import type { ArtifactChunk } from './artifact.ts';

/** Word to find, as the terms that texts may have for it. */
interface WantedWord {
  readonly terms: readonly string[];
  /** Other forms of the word. A text has a form if it has all of its terms. */
  readonly others: readonly (readonly string[])[];
}

/** Finds words and phrases in texts. */
export class WordFinder {
  readonly #words: readonly WantedWord[];
  /** Phrases as they are written. */
  readonly #phrases: readonly RegExp[];
  readonly #terms: ReadonlySet<string>;
  readonly #termsIn: (text: string) => ReadonlySet<string>;

  /** @param find words, and phrases in double quotes; text without any word counts as a phrase */
  constructor(find: string) {
    const quoted = [...find.matchAll(/["“”„]([^"“”„]+)["“”„]/g)].map(([, phrase = '']) => phrase.trim());
    const rest = find.replace(/["“”„][^"“”„]+["“”„]/g, ' ');
    this.#words = rest.split(/\s+/).flatMap((word) => {
      const terms = [...new Set(analyseQueryText(word))];
      const others = findStemForms(word).flatMap((forms) => forms.others);
      return terms.length === 0 ? [] : [{ terms, others }];
    });
    const phrases = quoted.filter((phrase) => phrase !== '');
    if (phrases.length === 0 && this.#words.length === 0) phrases.push(find.trim());
    this.#phrases = phrases.map(patternOf);
    this.#terms = new Set(this.#words.flatMap(({ terms, others }) => [...terms, ...others.flat()]));
    this.#termsIn = termFinder(this.#terms);
  }

  /** Number of words and phrases. */
  get size(): number {
    return this.#words.length + this.#phrases.length;
  }

  /** Return the share of the words that a text has, as a number up to `size`; 0 if a phrase is missing. */
  score(text: string): number {
    if (!this.#phrases.every((phrase) => phrase.test(text))) return 0;
    if (this.#words.length === 0) return this.#phrases.length;
    const found = this.#termsIn(text);
    const shares = this.#words.map(({ terms, others }) =>
      others.some((form) => form.every((term) => found.has(term)))
        ? 1
        : terms.filter((term) => found.has(term)).length / terms.length,
    );
    return this.#phrases.length + shares.reduce((sum, share) => sum + share, 0);
  }

  /** Find the places of the words and phrases in a text, in order. */
  locate(text: string): LocatedTerms[] {
    const located = this.#terms.size === 0 ? [] : locateTerms(text, this.#terms);
    for (const phrase of this.#phrases) {
      for (const { 0: found, index } of text.matchAll(new RegExp(phrase, 'giu'))) {
        located.push({ start: index, end: index + found.length, terms: [found.toLowerCase()] });
      }
    }
    return located.sort((a, b) => a.start - b.start || b.end - a.end);
  }

  /** Show the sentences of a text that have the words. */
  highlight(text: string): Highlight[] {
    return highlightLocated(text, this.locate(text));
  }
}

/**
 * Find the chunks of a document that have the most of the words, in the order of the document. Leave out a chunk that
 * has them only in the text that it repeats from the chunk before.
 *
 * @param see calls its argument with each chunk in order until it returns false
 */
export async function findWords(
  see: (each: (chunk: ArtifactChunk) => boolean) => Promise<void>,
  finder: WordFinder,
  range: { readonly first: number; readonly count: number },
): Promise<{ chunks: ArtifactChunk[]; next: number | null; complete: boolean; found: number }> {
  let best = 0;
  let count = 0;
  let kept: ArtifactChunk[] = [];
  let reached = 0;
  await see((chunk) => {
    const { start, end } = chunk.locator;
    const repeated = reached - start;
    reached = end;
    const score = finder.score(chunk.text);
    if (score === 0 || score < best) return true;
    if (repeated > 0 && finder.locate(chunk.text).every((located) => located.end <= repeated)) return true;
    if (score > best) [best, count, kept] = [score, 0, []];
    count += 1;
    if (chunk.index >= range.first && kept.length <= range.count) kept.push(chunk);
    return true;
  });
  return {
    chunks: kept.slice(0, range.count),
    next: kept[range.count]?.index ?? null,
    complete: count > 0 && best === finder.size,
    found: count,
  };
}

/** Make a pattern of a phrase as it is written, in any case and with any blanks between its words. */
function patternOf(phrase: string): RegExp {
  return new RegExp(
    phrase
      .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
      .split(/\s+/)
      .join('\\s+'),
    'iu',
  );
}
