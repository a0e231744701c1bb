import type { PdfLine } from './pdf-lines.ts';

export interface PdfPageLines {
  readonly page: number;
  /** Upper and lower edge of the page in PDF space. */
  readonly top: number;
  readonly bottom: number;
  readonly lines: readonly PdfLine[];
}

/** Share of a page's height, at top and bottom, that running titles may occupy. */
const MARGIN_SHARE = 0.12;
/** Maximum number of lines at each end of a page that may be running titles. */
const MARGIN_LINES_MAX = 3;
/** Baseline distance, in multiples of the font size, that separates a running title from the text. */
const GAP_RATIO = 1.8;
const PAGES_MIN = 3;
/** Number of pages with a running title that suffices if there are no more pages. */
const FEW_PAGES = 2;
/** Minimum share of pages with the running title between its first and last occurrence. A book may alternate two. */
const DENSITY_MIN = 0.4;
/** Maximum difference in height, in points, of lines at the same place on several pages. */
const SAME_HEIGHT = 4;

/**
 * Finder of running titles and page numbers: lines at the same height in the margins of several pages, with equal text
 * except for numbers. On two pages, numbers count as text. It removes the lines, and reports each running title once.
 */
export class PdfMargins {
  readonly #reported = new Set<string>();

  /**
   * Split the lines of a window of pages.
   * @param bodySize font size of the text: in larger lines, such as `Chapter 3`, numbers count as text
   */
  divide(
    pages: readonly PdfPageLines[],
    bodySize: number,
  ): { pages: PdfPageLines[]; runningTitles: Array<{ text: string; page: number }> } {
    const byKey = new Map<string, number[]>();
    const areFew = pages.length < PAGES_MIN;
    const pagesMin = areFew ? FEW_PAGES : PAGES_MIN;
    const keyFor = (line: PdfLine) => {
      const key = keyOf(line, bodySize);
      return areFew && !this.#reported.has(key) ? exactKeyOf(line) : key;
    };
    const keysOfPage = pages.map((page) => {
      const keys = new Map(marginLines(page).map((line) => [line, keyFor(line)]));
      for (const key of new Set(keys.values())) byKey.set(key, [...(byKey.get(key) ?? []), page.page]);
      return keys;
    });
    const isRunning = (key: string | undefined) =>
      key !== undefined && (this.#reported.has(key) || isRepeated(byKey.get(key) ?? [], pagesMin));
    const runningTitles: Array<{ text: string; page: number }> = [];
    const divided = pages.map((page, at) => {
      const keys = keysOfPage[at] as Map<PdfLine, string>;
      const body = page.lines.filter((line) => !isRunning(keys.get(line)));
      // On a page with nothing else, that text is the content.
      if (body.length === 0) return page;
      for (const [line, key] of keys) {
        if (!isRunning(key) || this.#reported.has(key)) continue;
        this.#reported.add(key);
        if (/\p{L}{2}/u.test(line.text)) runningTitles.push({ text: line.text, page: page.page });
      }
      return { ...page, lines: body };
    });
    return { pages: divided, runningTitles };
  }
}

function isRepeated(pages: readonly number[], pagesMin: number): boolean {
  if (pages.length < pagesMin) return false;
  return pages.length / ((pages.at(-1) as number) - (pages[0] as number) + 1) >= DENSITY_MIN;
}

/** Return the first and last lines of a page that a gap separates from its text. */
function marginLines({ lines, top, bottom }: PdfPageLines): PdfLine[] {
  const margin = (top - bottom) * MARGIN_SHARE;
  const downwards = lines.toSorted((a, b) => b.y - a.y);
  return [
    ...beforeGap(downwards, (line) => line.y > top - margin),
    ...beforeGap(downwards.toReversed(), (line) => line.y < bottom + margin),
  ];
}

function beforeGap(lines: readonly PdfLine[], isInMargin: (line: PdfLine) => boolean): readonly PdfLine[] {
  for (const [at, line] of lines.slice(0, MARGIN_LINES_MAX).entries()) {
    if (!isInMargin(line)) break;
    const next = lines[at + 1];
    if (next === undefined) break;
    if (Math.abs(line.y - next.y) > GAP_RATIO * Math.min(line.fontSize, next.fontSize)) return lines.slice(0, at + 1);
  }
  return [];
}

function keyOf(line: PdfLine, bodySize: number): string {
  const { text, fontSize } = line;
  if (fontSize > bodySize * 1.1) return exactKeyOf(line);
  return exactKeyOf({ ...line, text: text.replace(/\d+|\b[ivxlc]{1,6}\b/g, '#') });
}

function exactKeyOf({ text, y }: PdfLine): string {
  return `${Math.round(y / SAME_HEIGHT)} ${text}`;
}
