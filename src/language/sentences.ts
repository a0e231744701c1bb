import { graphemeCut } from './graphemes.ts';

/** Range of a text, [start, end), in UTF-16 units. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Maximum input of the segmenter, which is slow and needs much memory for very long strings. */
const WINDOW_CHARS = 64 * 1024;

/** Segment ends that don't end a sentence: a title, an initial, a reference. */
const ABBREVIATION =
  /(?:^|[\s("'“])(?:\p{Lu}|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|cf|e\.g|i\.e|etc|al|Fig|Figs|Eq|Eqs|Sec|No|Nos|Vol|pp?|ca|approx|Inc|Ltd|Co|Corp|Dept|Univ)\.\s*$/u;
const HANGUL = /[\uac00-\ud7a3\u1100-\u11ff\u3130-\u318f]/;

/** White space beyond ASCII as defined by `String.prototype.trim`, and NEL. */
const BLANKS: ReadonlySet<number> = new Set([
  0x85, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029,
  0x202f, 0x205f, 0x3000, 0xfeff,
]);

const segmenters = new Map<string, Intl.Segmenter>();

/**
 * Divide a block of prose into sentences: ranges without outer blanks, in order, that omit only blanks. Line breaks
 * inside the block count as blanks, since wrapped text may break anywhere. A "sentence" longer than `charsMax` may be
 * cut.
 *
 * Boundaries follow Unicode Standard Annex 29, except those after common abbreviations.
 */
export function segmentSentences(text: string, charsMax = WINDOW_CHARS): Range[] {
  const sentences: Range[] = [];
  const windowChars = Math.max(WINDOW_CHARS, charsMax);
  const segmenter = segmenterFor(HANGUL.test(text.slice(0, 4096)) ? 'ko' : 'en');
  for (let at = 0; at < text.length; ) {
    const window = text.slice(at, graphemeCut(text, at + windowChars, at)).replace(/[\n\r\u2028\u2029\u0085]/g, ' ');
    const last = at + window.length >= text.length;
    const cuts: number[] = [];
    for (const { index } of segmenter.segment(window)) {
      if (index > 0 && !endsInAbbreviation(window, index)) cuts.push(index);
    }
    // The last segment of a window may continue in the next one, unless it is the only segment.
    if (last || cuts.length === 0) cuts.push(window.length);
    let from = 0;
    for (const cut of cuts) {
      const range = trimRange(text, { start: at + from, end: at + cut });
      if (range !== null) sentences.push(range);
      from = cut;
    }
    at += from;
  }
  return sentences;
}

/** Trim white space at both ends of a range. Return null if nothing remains. */
export function trimRange(text: string, { start, end }: Range): Range | null {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return from < to ? { start: from, end: to } : null;
}

/** Return the nearest position at or before `index` that doesn't divide a surrogate pair. */
export function safeCut(text: string, index: number): number {
  const unit = text.charCodeAt(index - 1);
  return index < text.length && unit >= 0xd800 && unit < 0xdc00 ? index - 1 : index;
}

function isBlank(unit: number): boolean {
  return unit <= 0x20 || unit === 0xa0 || (unit >= 0x85 && BLANKS.has(unit));
}

function endsInAbbreviation(window: string, index: number): boolean {
  return ABBREVIATION.test(window.slice(Math.max(0, index - 16), index));
}

function segmenterFor(locale: string): Intl.Segmenter {
  let segmenter = segmenters.get(locale);
  if (segmenter === undefined) {
    segmenter = new Intl.Segmenter(locale, { granularity: 'sentence' });
    segmenters.set(locale, segmenter);
  }
  return segmenter;
}
