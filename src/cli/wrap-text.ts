import stringWidth from 'string-width';

/**
 * Break a text into lines of at most `cells` terminal cells, at spaces where there are any, else between letters.
 * Line breaks of the text stay; runs of blanks become one space.
 */
export function wrapText(text: string, cells: number): string[] {
  return text.split(/\r\n|\r|\n/).flatMap((line) => wrapLine(line, cells));
}

function wrapLine(line: string, cells: number): string[] {
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const word of line.split(/\s+/).filter((part) => part !== '')) {
    for (const piece of splitWord(word, cells)) {
      const width = stringWidth(piece);
      if (current !== '' && used + 1 + width > cells) {
        lines.push(current);
        current = '';
        used = 0;
      }
      used += width + (current === '' ? 0 : 1);
      current = current === '' ? piece : `${current} ${piece}`;
    }
  }
  lines.push(current);
  return lines;
}

/** The word in pieces that fit on a line each: one piece, unless it is longer than a line. */
function splitWord(word: string, cells: number): string[] {
  if (stringWidth(word) <= cells) return [word];
  const pieces: string[] = [];
  let piece = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    const width = stringWidth(segment);
    if (piece !== '' && used + width > cells) {
      pieces.push(piece);
      piece = '';
      used = 0;
    }
    piece += segment;
    used += width;
  }
  return [...pieces, piece];
}
