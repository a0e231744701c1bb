import { textWidth } from './text-width.ts';

/**
 * Wrap a text to at most `cells` terminal cells per line: at spaces, or inside a word that is longer than a line. Keep
 * existing line breaks, and collapse runs of spaces.
 */
export function wrapText(text: string, cells: number): string[] {
  return text.split(/\r\n|\r|\n/).flatMap((line) => wrapLine(line, cells));
}

function wrapLine(line: string, cells: number): string[] {
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const word of line.split(/\s+/).filter((text) => text !== '')) {
    for (const part of splitWord(word, cells)) {
      const width = textWidth(part);
      if (current !== '' && used + 1 + width > cells) {
        lines.push(current);
        current = '';
        used = 0;
      }
      used += width + (current === '' ? 0 : 1);
      current = current === '' ? part : `${current} ${part}`;
    }
  }
  lines.push(current);
  return lines;
}

/** Split a word into parts that fit on a line. */
function splitWord(word: string, cells: number): string[] {
  if (textWidth(word) <= cells) return [word];
  const parts: string[] = [];
  let part = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    const width = textWidth(segment);
    if (part !== '' && used + width > cells) {
      parts.push(part);
      part = '';
      used = 0;
    }
    part += segment;
    used += width;
  }
  return [...parts, part];
}
