/** Code units after a position that decide if it divides a surrogate pair or a cluster. */
const LOOK_AHEAD_CHARS = 8;
const ZERO_WIDTH_JOINER = 0x200d;
const MARK = /^\p{M}/u;

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * Return the last position up to `index` at which a text can be cut: it divides no grapheme cluster (Unicode Standard
 * Annex 29), and neither a mark follows it nor a joiner precedes it. Return `from` if there is none after it.
 * @param from position at which a cluster begins, close to `index`
 */
export function graphemeCut(text: string, index: number, from = 0): number {
  if (index >= text.length) return text.length;
  const part = text.slice(from, index + LOOK_AHEAD_CHARS);
  const segments = graphemes.segment(part);
  let at = index - from;
  while (at > 0) {
    at = segments.containing(at)?.index ?? 0;
    if (isClean(part, at)) break;
    at--;
  }
  return from + Math.max(at, 0);
}

/** Return the first position after `from` at which a text can be cut, but at most `charsMax` units after it. */
export function graphemeEnd(text: string, from: number, charsMax: number): number {
  const part = text.slice(from, from + charsMax + LOOK_AHEAD_CHARS);
  for (const { index } of graphemes.segment(part)) {
    if (index > charsMax) break;
    if (index > 0 && isClean(part, index)) return from + index;
  }
  return part.length <= charsMax ? text.length : from + charsMax;
}

function isClean(text: string, at: number): boolean {
  return text.charCodeAt(at - 1) !== ZERO_WIDTH_JOINER && !MARK.test(text.slice(at, at + 2));
}
