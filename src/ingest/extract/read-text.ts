import type { BlockDraft } from './blocks.ts';

/** Convert the newlines of every system to `\n`, and a form feed, which ends a page, to a paragraph end. */
export function normalizeNewlines(text: string): string {
  return text.replace(/\r\n?|\u2028|\u2029/g, '\n').replaceAll('\f', '\n\n');
}

/** Yield the paragraphs of plain text, separated by blank lines, in one pass. Keep line breaks. */
export function* readText(text: string): Generator<BlockDraft> {
  const source = normalizeNewlines(text);
  let start = -1;
  let end = 0;
  for (let at = 0; at < source.length; ) {
    const newline = source.indexOf('\n', at);
    const lineEnd = newline < 0 ? source.length : newline;
    if (/\S/.test(source.slice(at, lineEnd))) {
      if (start < 0) start = at;
      end = lineEnd;
    } else if (start >= 0) {
      yield { kind: 'paragraph', text: source.slice(start, end) };
      start = -1;
    }
    at = lineEnd + 1;
  }
  if (start >= 0) yield { kind: 'paragraph', text: source.slice(start, end) };
}
