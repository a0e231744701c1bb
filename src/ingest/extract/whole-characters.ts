let graphemes: Intl.Segmenter | null = null;
/** Number of code units around a position that decide whether it splits a cluster. */
const CONTEXT_CHARS = 64;

/**
 * Return the last position up to `index`, and after `from`, that doesn't split a grapheme. The readers have their own
 * version of this function, since their process can't load code outside this folder.
 */
export function wholeCharacters(text: string, index: number, from: number): number {
  if (index >= text.length) return text.length;
  const start = Math.max(from, index - CONTEXT_CHARS);
  graphemes ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  const cut = graphemes.segment(text.slice(start, index + CONTEXT_CHARS)).containing(index - start)?.index ?? 0;
  return cut > 0 ? start + cut : index;
}
