import { wholeCharacters } from './whole-characters.ts';

const WINDOW_CHARS = 64 * 1024;
const WINDOW_CHARS_MAX = 2 * WINDOW_CHARS;

/** Opening fence. The text after backticks must contain no further backtick (else it is inline code). */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;

/**
 * Split Markdown into windows that can be parsed independently. A window of at least 64 Ki characters ends where a new
 * block must start: at an unindented heading, or at an unindented line after a blank one, outside a fence. Beyond twice
 * that size it ends at any line end, or anywhere. Cost is thus linear in the document's length whatever a parser does
 * with one window, and the caller can pause between windows. A fence that is cut is reopened in the next window.
 * @param text with `\n` as its only newline
 */
export function* markdownWindows(text: string): Generator<string> {
  let start = 0;
  let reopened = '';
  let fence: string | null = null;
  let blankBefore = true;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const lineEnd = newline < 0 ? text.length : newline;
    const line = text.slice(at, Math.min(lineEnd, at + 512));
    const length = at - start;
    const blockStart = fence === null && /^(?:#{1,6}\s|[^\s])/.test(line) && (blankBefore || line.startsWith('#'));
    if ((length >= WINDOW_CHARS && blockStart) || length >= WINDOW_CHARS_MAX) {
      yield reopened + text.slice(start, at);
      reopened = fence === null ? '' : `${fence}\n`;
      start = at;
    }
    // Cut a very long line anywhere, since it doesn't fit into a window.
    while (lineEnd - start > 2 * WINDOW_CHARS_MAX) {
      const cut = wholeCharacters(text, start + WINDOW_CHARS_MAX, start);
      yield reopened + text.slice(start, cut);
      start = cut;
    }
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === null) fence = mark;
      else if (mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = null;
    }
    blankBefore = line.trim() === '';
    at = lineEnd + 1;
  }
  if (start < text.length) yield reopened + text.slice(start);
}
