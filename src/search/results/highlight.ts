import { z } from 'zod';
import { graphemeCut } from '../../language/graphemes.ts';
import { type LocatedTerms, locateTerms } from '../../language/locate-terms.ts';
import { type Range, segmentSentences, trimRange } from '../../language/sentences.ts';

/** Maximum number of sentences shown per chunk. */
const SENTENCES_MAX = 3;
/** Maximum length of a sentence. A longer one is cut around its first matches. */
const SENTENCE_CHARS_MAX = 320;
const CHARS_BEFORE_MATCH = 80;
const ELLIPSIS = '…';

/** Sentence of a chunk, split into parts that are query words or not. */
export const Highlight = z
  .object({
    parts: z.array(z.object({ text: z.string(), match: z.boolean().describe('true for words of the query') })),
  })
  .meta({ id: 'SearchHighlight' });
export type Highlight = z.output<typeof Highlight>;

/**
 * Find the sentences of a text that match a query best, in text order. Terms in fewer sentences count more. Return none
 * if text and query share no term.
 *
 * @param terms analysed terms of the query
 */
export function highlight(text: string, terms: ReadonlySet<string>): Highlight[] {
  return highlightLocated(text, locateTerms(text, terms));
}

/** Find the sentences with the most located terms, like `highlight`. */
export function highlightLocated(text: string, located: readonly LocatedTerms[]): Highlight[] {
  if (located.length === 0) return [];
  const sentences = segmentSentences(text)
    .map((range) => ({ range, own: located.filter(({ start }) => start >= range.start && start < range.end) }))
    .filter(({ own }) => own.length > 0);
  const counts = new Map<string, number>();
  for (const { own } of sentences) for (const term of termsOf(own)) counts.set(term, (counts.get(term) ?? 0) + 1);
  const weighed = sentences.map((sentence) => {
    let weight = 0;
    for (const term of termsOf(sentence.own)) weight += Math.log(1 + sentences.length / (counts.get(term) as number));
    return { ...sentence, weight };
  });
  const best = new Set(weighed.toSorted((a, b) => b.weight - a.weight).slice(0, SENTENCES_MAX));
  return weighed.filter((each) => best.has(each)).map(({ range, own }) => toHighlight(text, range, own));
}

function termsOf(located: readonly LocatedTerms[]): Set<string> {
  return new Set(located.flatMap(({ terms }) => terms));
}

function toHighlight(text: string, sentence: Range, located: readonly LocatedTerms[]): Highlight {
  const { start, end } = shorten(text, sentence, located);
  const parts: Highlight['parts'] = start > sentence.start ? [{ text: ELLIPSIS, match: false }] : [];
  const add = (from: number, to: number, match: boolean) => {
    if (to > from) parts.push({ text: text.slice(from, to), match });
  };
  let at = start;
  for (const own of located) {
    if (own.start < at || own.end > end) continue;
    add(at, own.start, false);
    add(own.start, own.end, true);
    at = own.end;
  }
  add(at, end, false);
  if (end < sentence.end) parts.push({ text: ELLIPSIS, match: false });
  return { parts };
}

/** Cut a long sentence at word boundaries. */
function shorten(text: string, sentence: Range, located: readonly LocatedTerms[]): Range {
  if (sentence.end - sentence.start <= SENTENCE_CHARS_MAX) return sentence;
  const first = located[0]?.start ?? sentence.start;
  let start = Math.max(sentence.start, first - CHARS_BEFORE_MATCH);
  let end = Math.min(sentence.end, start + SENTENCE_CHARS_MAX);
  const [blankAfterStart, blankBeforeEnd] = [text.indexOf(' ', start), text.lastIndexOf(' ', end)];
  if (start > sentence.start && blankAfterStart >= 0 && blankAfterStart < first) start = blankAfterStart + 1;
  if (end < sentence.end && blankBeforeEnd > (located[0]?.end ?? start)) end = blankBeforeEnd;
  return trimRange(text, wholeCharacters(text, { start, end }, sentence)) ?? sentence;
}

/** Move the ends of a range to grapheme boundaries. */
function wholeCharacters(text: string, { start, end }: Range, sentence: Range): Range {
  return { start: graphemeCut(text, start, sentence.start), end: graphemeCut(text, end, start) };
}
