import { loadPdfJs, type PdfPage } from '../load-pdfjs.ts';
import type { PdfTextItem } from '../pdf-lines.ts';

/** Letters with one blank between each two, as pdf.js reports letter-spaced text. */
const SPACED = /^[\p{L}\p{N}]\p{M}*(?: [\p{L}\p{N}\p{P}]\p{M}*)+$/u;
const SPACED_LONG = /^\p{L}\p{M}*(?: [\p{L}\p{P}]\p{M}*){2,}$/u;
/** Letters in a row, each an item of its own, from which they may be a letter-spaced word. */
const SINGLE_RUN_MIN = 4;
/** Maximum distance of two letters of a word, in units of the font size. Cells of a table are farther apart. */
const GAP_MAX = 1.2;

/**
 * Join the letters of letter-spaced text to words. pdf.js puts a blank into every wide gap. The text as it is written
 * in the page says whether a blank is one. It is read only for pages with suspicious items.
 */
export async function joinSpacedLetters(page: PdfPage, items: readonly PdfTextItem[]): Promise<PdfTextItem[]> {
  const isSuspicious = items.some(({ str }) => SPACED_LONG.test(str)) || singleRuns(items).length > 0;
  if (!isSuspicious) return [...items];
  const written = new WrittenText(await writtenText(page));
  return joinItems(items, written);
}

function joinItems(items: readonly PdfTextItem[], written: WrittenText): PdfTextItem[] {
  const joined = items.map((item) => {
    if (!SPACED.test(item.str) || written.hasVerbatim(item.str)) return item;
    const letters = item.str.replaceAll(' ', '');
    const blanks = written.blanksOf(letters);
    if (blanks === null) return item;
    const words = Array.from(letters.slice(0, -1), (letter, at) => (blanks[at] ? `${letter} ` : letter));
    return { ...item, str: words.join('') + letters.slice(-1) };
  });
  for (const [start, end] of singleRuns(joined)) {
    const letters = joined.slice(start, end).filter(({ str }) => str.trim() !== '');
    const words = written.blanksOf(letters.map(({ str }) => str).join(''));
    if (words === null) continue;
    let at = 0;
    let isStart = true;
    for (let index = start; index < end; index++) {
      const item = joined[index] as PdfTextItem;
      if (item.str.trim() === '') {
        joined[index] = { ...item, str: '' };
        continue;
      }
      const blank = !isStart && words[at - 1] === true ? ' ' : '';
      // Letters of one word touch, so that no blank is put between them later.
      const next = joined.slice(index + 1, end).find(({ str }) => str.trim() !== '');
      joined[index] = { ...item, str: blank + item.str, width: next === undefined ? item.width : next.x - item.x };
      at += [...item.str].length;
      isStart = false;
    }
  }
  return joined;
}

/** Find runs of items of one letter each on a line, at small and wide gaps: [start, end) of each. */
function singleRuns(items: readonly PdfTextItem[]): Array<[number, number]> {
  const runs: Array<[number, number]> = [];
  let start = -1;
  let count = 0;
  let gaps = 0;
  let last: PdfTextItem | null = null;
  const close = (end: number) => {
    if (start >= 0 && count >= SINGLE_RUN_MIN && gaps >= count - 2) runs.push([start, end]);
    start = -1;
    count = 0;
    gaps = 0;
    last = null;
  };
  for (const [index, item] of items.entries()) {
    if (item.str.trim() === '' && !(item.str === '' && item.endsLine)) continue;
    const before: PdfTextItem | null = last;
    const gap = before === null ? 0 : item.x - before.x - before.width;
    const continues =
      before !== null && Math.abs(item.y - before.y) < 1 && gap <= GAP_MAX * 3 * item.fontSize && gap > -item.fontSize;
    if (!/^\p{L}\p{M}*$/u.test(item.str) || (before !== null && !continues)) close(index);
    if (!/^\p{L}\p{M}*$/u.test(item.str)) continue;
    if (start < 0) start = index;
    else if (gap > 0.1 * item.fontSize && gap <= GAP_MAX * item.fontSize) gaps++;
    count++;
    last = item;
    if (item.endsLine) close(index + 1);
  }
  close(items.length);
  return runs;
}

/** Text of a page in the order of its content stream, with the blanks that are written there and no others. */
class WrittenText {
  readonly #text: string;
  readonly #compact: string;
  /** For each character of the compact text, true if a blank follows it. */
  readonly #blanks: boolean[] = [];

  constructor(text: string) {
    this.#text = text;
    const compact: string[] = [];
    for (const character of text) {
      if (character.trim() !== '') {
        compact.push(character);
        for (let unit = 0; unit < character.length; unit++) this.#blanks.push(false);
      } else if (compact.length > 0) this.#blanks[this.#blanks.length - 1] = true;
    }
    this.#compact = compact.join('');
  }

  hasVerbatim(text: string): boolean {
    return this.#text.includes(text);
  }

  /** Return, for each character of letters without blanks, if a blank follows it; null if they are not written so. */
  blanksOf(letters: string): boolean[] | null {
    const at = this.#compact.indexOf(letters);
    return at < 0 ? null : this.#blanks.slice(at, at + letters.length);
  }
}

/** Read the characters of all glyphs of a page, without the blanks that gaps stand for. */
async function writtenText(page: PdfPage): Promise<string> {
  const { OPS: ops } = await loadPdfJs();
  const { fnArray, argsArray } = await page.getOperatorList();
  const parts: string[] = [];
  for (const [index, operator] of fnArray.entries()) {
    if (operator !== ops.showText) continue;
    const [glyphs] = argsArray[index] as [Array<number | { unicode?: string } | null>];
    for (const glyph of glyphs) if (typeof glyph === 'object') parts.push(glyph?.unicode ?? '');
  }
  return parts.join('').normalize('NFKC');
}
