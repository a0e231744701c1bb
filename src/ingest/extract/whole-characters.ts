let graphemes: Intl.Segmenter | null = null;
/** Code units around a position that decide whether it divides a cluster. */
const CONTEXT_CHARS = 64;

/**
 * Return the last position up to `index`, and behind `from`, at which no character as a reader sees it is divided. The
 * readers have this function of their own, since their process can load no code beyond this folder.
 */
export function wholeCharacters(text: string, index: number, from: number): number {
  if (index >= text.length) return text.length;
  const start = Math.max(from, index - CONTEXT_CHARS);
  graphemes ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  const cut = graphemes.segment(text.slice(start, index + CONTEXT_CHARS)).containing(index - start)?.index ?? 0;
  return cut > 0 ? start + cut : index;
}
