import { analyse } from '../language/analyser.ts';
import { graphemeCut } from '../language/graphemes.ts';
import { segmentSentences } from '../language/sentences.ts';
import { languageOfText } from '../language/text-language.ts';
import { oneLine } from '../platform/printable.ts';

const ELLIPSIS = '…';
/** Minimum share of a text to keep when cutting at whitespace. Below it, cut between graphemes. */
const WORD_CUT_SHARE_MIN = 0.6;

/** Convert a text to one line of well-formed Unicode without control characters or repeated whitespace. */
export function toOneLine(text: string): string {
  return oneLine(text.toWellFormed()).replace(/\s+/g, ' ').trim();
}

/**
 * Truncate a text to at most `charsMax` UTF-16 units, at whitespace if near, otherwise between graphemes, and mark the
 * cut. Return a text that fits unchanged.
 */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const end = graphemeCut(text, charsMax - ELLIPSIS.length);
  const blank = text.lastIndexOf(' ', end);
  const cut = blank >= end * WORD_CUT_SHARE_MIN ? blank : end;
  return `${text.slice(0, cut).trimEnd()}${ELLIPSIS}`;
}

/**
 * Return the first run of consecutive sentences that fits into `charsMax` and shares the most terms with the question.
 * Truncate a single sentence that doesn't fit.
 *
 * @param terms analysed terms of the question
 */
export function excerptOf(passage: string, terms: ReadonlySet<string>, charsMax: number): string {
  const text = toOneLine(passage);
  if (text.length <= charsMax) return text;
  const sentences = segmentSentences(text).map(({ start, end }) => text.slice(start, end));
  const language = languageOfText(text);
  const shared = sentences.map((sentence) => analyse(sentence, language).filter((term) => terms.has(term)));
  let best = { first: 0, end: 1, count: -1 };
  for (let first = 0; first < sentences.length; first++) {
    const end = endOfRun(sentences, first, charsMax - (first > 0 ? ELLIPSIS.length + 1 : 0));
    const count = new Set(shared.slice(first, end).flat()).size;
    if (count > best.count) best = { first, end, count };
  }
  const lead = best.first > 0 ? `${ELLIPSIS} ` : '';
  return lead + cutText(sentences.slice(best.first, best.end).join(' '), charsMax - lead.length);
}

/** Return the end of the longest run from `first` that fits, with at least one sentence. */
function endOfRun(sentences: readonly string[], first: number, charsMax: number): number {
  let chars = sentences[first]?.length ?? 0;
  let end = first + 1;
  for (; end < sentences.length; end++) {
    chars += 1 + (sentences[end]?.length ?? 0);
    if (chars > charsMax) break;
  }
  return end;
}
