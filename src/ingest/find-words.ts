import { analyseQueryText } from '../language/analyser.ts';
import { termFinder } from '../language/find-terms.ts';
import { type LocatedTerms, locateTerms } from '../language/locate-terms.ts';
import { findStemForms } from '../language/stem-forms.ts';
import { type Highlight, highlightLocated } from '../search/results/highlight.ts';
import type { ArtifactChunk } from './artifact.ts';

/** Word to find, as the terms that stand for it in texts. */
interface WantedWord {
  readonly terms: readonly string[];
  /** Other forms of the word. A text contains a form if it contains all of its terms. */
  readonly others: readonly (readonly string[])[];
}

/** Finder of words and phrases in texts. */
export class WordFinder {
  readonly #words: readonly WantedWord[];
  /** Phrases as written. */
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

  /** Count the words and phrases in a text, partial words by their share of terms. Return 0 if a phrase is missing. */
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

  /** Find the positions of the words and phrases in a text, in order. */
  locate(text: string): LocatedTerms[] {
    const located = this.#terms.size === 0 ? [] : locateTerms(text, this.#terms);
    for (const phrase of this.#phrases) {
      for (const { 0: found, index } of text.matchAll(new RegExp(phrase, 'giu'))) {
        located.push({ start: index, end: index + found.length, terms: [found.toLowerCase()] });
      }
    }
    return located.sort((a, b) => a.start - b.start || b.end - a.end);
  }

  /** Return the sentences of a text that contain the words. */
  highlight(text: string): Highlight[] {
    return highlightLocated(text, this.locate(text));
  }
}

/**
 * Find the chunks of a document that contain the most words, in document order. Skip a chunk that contains them only in
 * its overlap with the previous chunk.
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

/** Build a pattern for a phrase as written, ignoring case and the kind of blanks between its words. */
function patternOf(phrase: string): RegExp {
  return new RegExp(
    phrase
      .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
      .split(/\s+/)
      .join('\\s+'),
    'iu',
  );
}
