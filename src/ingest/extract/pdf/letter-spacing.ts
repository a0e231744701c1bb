import { loadPdfJs, type PdfPage } from '../load-pdfjs.ts';
import type { PdfTextItem } from '../pdf-lines.ts';

/** Single letter or symbol, or several separated by single blanks, as pdf.js reports letter-spaced text. */
const LETTERS = /^[\p{L}\p{N}\p{P}\p{S}]\p{M}*(?: [\p{L}\p{N}\p{P}\p{S}]\p{M}*)*$/u;
const BLANKS = / /g;
/** Minimum number of letters on a line that may be letter-spaced. */
const LETTERS_MIN = 3;
/** Minimum number of consecutive single-letter items that may be one word. */
const SINGLES_MIN = 4;
/** Maximum distance between letters of a word, in multiples of the font size. Table cells are farther apart. */
const GAP_MAX = 1.2;
/** Maximum distance between two words. */
const WORD_GAP_MAX = 3 * GAP_MAX;

/**
 * Join the letters of letter-spaced text to words. pdf.js inserts a blank into every wide gap; the page's raw text
 * tells which blanks are real. Read that only for pages with suspicious items.
 */
export async function joinSpacedLetters(page: PdfPage, items: readonly PdfTextItem[]): Promise<PdfTextItem[]> {
  const runs = spacedRuns(items);
  if (runs.length === 0) return [...items];
  const written = new WrittenText(await writtenText(page));
  const joined = [...items];
  for (const run of runs) joinRun(joined, run, written);
  return joined;
}

/** Range of letter items on a line, including the ones between them: [start, end). */
type Run = readonly [start: number, end: number];

/** Find the runs of letters on a line that may be letter-spaced text. */
function spacedRuns(items: readonly PdfTextItem[]): Run[] {
  const runs: Run[] = [];
  let run: PdfTextItem[] = [];
  let start = 0;
  let end = 0;
  const close = () => {
    if (isSpaced(run)) runs.push([start, end]);
    run = [];
  };
  for (const [index, item] of items.entries()) {
    if (item.str.trim() === '') continue;
    const before = run.at(-1);
    if (before !== undefined && (before.endsLine || !continues(before, item))) close();
    if (!LETTERS.test(item.str)) {
      close();
      continue;
    }
    if (run.length === 0) start = index;
    run.push(item);
    end = index + 1;
  }
  close();
  return runs;
}

function continues(before: PdfTextItem, item: PdfTextItem): boolean {
  const gap = gapOf(before, item);
  return Math.abs(item.y - before.y) < 1 && gap <= WORD_GAP_MAX && gap > -1 && item.angle === before.angle;
}

/** Return the distance between two items, in multiples of the font size. */
function gapOf(before: PdfTextItem, item: PdfTextItem): number {
  return (item.x - before.x - before.width) / item.fontSize;
}

function isSpaced(run: readonly PdfTextItem[]): boolean {
  const letters = run.reduce((sum, { str }) => sum + lettersOf(str).length, 0);
  if (letters < LETTERS_MIN || !run.some(({ str }) => /\p{L}/u.test(str))) return false;
  const spaced = run.filter(({ str }) => str.includes(' '));
  if (spaced.length > 1 || spaced.some(({ str }) => lettersOf(str).length >= LETTERS_MIN)) return true;
  const narrow = run.filter((item, at) => at > 0 && isNarrow(gapOf(run[at - 1] as PdfTextItem, item))).length;
  return letters >= SINGLES_MIN && narrow * 2 >= run.length - 1 && narrow > 0;
}

function isNarrow(gap: number): boolean {
  return gap > 0.1 && gap <= GAP_MAX;
}

function lettersOf(text: string): string {
  return text.replace(BLANKS, '');
}

/** Keep only blanks of the raw text. Leave letters that differ from the raw text unchanged. */
function joinRun(items: PdfTextItem[], [start, end]: Run, written: WrittenText): void {
  const own = items.slice(start, end).filter(({ str }) => str.trim() !== '');
  const [only] = own;
  if (own.length === 1 && only !== undefined && written.hasVerbatim(only.str)) return;
  const blanks = written.blanksOf(own.map(({ str }) => lettersOf(str)).join(''));
  if (blanks === null) return;
  let at = 0;
  for (let index = start; index < end; index++) {
    const item = items[index] as PdfTextItem;
    if (item.str.trim() === '') {
      items[index] = { ...item, str: '' };
      continue;
    }
    let text = at > 0 && blanks[at - 1] === true ? ' ' : '';
    const letters = lettersOf(item.str);
    for (const [unit, letter] of Array.from(letters).entries()) {
      const isLast = unit === letters.length - 1;
      text += !isLast && blanks[at + unit] === true ? `${letter} ` : letter;
    }
    // Make the items of a run touch, so that no blank is inserted between them later.
    const next = items.slice(index + 1, end).find(({ str }) => str.trim() !== '');
    items[index] = { ...item, str: text, width: next === undefined ? item.width : next.x - item.x };
    at += letters.length;
  }
}

/** Raw text of a page in content stream order, with only the blanks that are written there. */
class WrittenText {
  readonly #text: string;
  readonly #compact: string;
  /** By character of the compact text: true if a blank follows. */
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

  /** Return, by character of letters without blanks, whether a blank follows; null if the raw text lacks them. */
  blanksOf(letters: string): boolean[] | null {
    const at = this.#compact.indexOf(letters);
    return at < 0 ? null : this.#blanks.slice(at, at + letters.length);
  }
}

/** Read the characters of all glyphs on a page, without the blanks for gaps. */
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
