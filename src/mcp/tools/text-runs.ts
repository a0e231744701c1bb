import type { DocumentChunk } from '../../client/schema.ts';
import { placeOf } from './render-results.ts';
import { cutToTokens, tokensOf } from './token-budget.ts';

/** Part of a document's text with one page and one heading path. It has `end - start` characters. */
export interface TextRun {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly place: string;
  readonly headingPath: readonly string[];
}

/** Remaining tokens below which no text is added. */
const TOKENS_MIN = 20;

/** Join consecutive chunks into runs, without overlapping text. */
export function runsOf(chunks: readonly DocumentChunk[]): TextRun[] {
  const runs: TextRun[] = [];
  for (const { text, locator } of chunks) {
    const { start, end, page = null, heading_path = [], places = [{ start, page, heading_path }] } = locator;
    // Rows from the middle of a table need its column names.
    const columns = locator.table_header === undefined ? [] : [`columns: ${locator.table_header}`];
    for (const [nth, place] of places.entries()) {
      const last = runs.at(-1);
      const from = Math.max(place.start, last?.end ?? 0);
      const to = places[nth + 1]?.start ?? end;
      if (from >= to) continue;
      const { page: own, heading_path: headings } = place;
      const described = [...placeOf({ ...locator, page: own, heading_path: headings }), ...columns].join(' | ');
      const part = text.slice(from - start, to - start);
      if (last !== undefined && last.place === described) {
        runs[runs.length - 1] = { ...last, end: to, text: last.text + blanks(from - last.end) + part };
      } else runs.push({ start: from, end: to, text: part, place: described, headingPath: headings });
    }
  }
  return runs;
}

/** Return the end of the text that starts at a position and fits into a number of tokens. */
export function endWithin(runs: readonly TextRun[], from: number, tokensMax: number): number {
  let left = tokensMax;
  let reached = from;
  for (const run of clipRuns(runs, from, Number.POSITIVE_INFINITY)) {
    left -= labelTokensOf(run);
    if (left < TOKENS_MIN) break;
    const kept = cutToTokens(run.text, left, 'start');
    reached = run.start + kept.length;
    if (kept.length < run.text.length) break;
    left -= tokensOf(kept);
  }
  return reached;
}

/** Return the start of the text that ends at a position and fits into a number of tokens. */
export function startWithin(runs: readonly TextRun[], to: number, tokensMax: number): number {
  let left = tokensMax;
  let reached = to;
  for (const run of clipRuns(runs, 0, to).reverse()) {
    left -= labelTokensOf(run);
    if (left < TOKENS_MIN) break;
    const kept = cutToTokens(run.text, left, 'end');
    reached = run.end - kept.length;
    if (kept.length < run.text.length) break;
    left -= tokensOf(kept);
  }
  return reached;
}

/** Return the runs between two positions, with the first and last run cut. */
function clipRuns(runs: readonly TextRun[], from: number, to: number): TextRun[] {
  return runs
    .filter(({ start, end }) => end > from && start < to)
    .map((run) => {
      const [start, end] = [Math.max(run.start, from), Math.min(run.end, to)];
      return { ...run, start, end, text: run.text.slice(start - run.start, end - run.start) };
    });
}

/** Render the text between two positions. A line before each run names its page and headings. */
export function renderRuns(runs: readonly TextRun[], from: number, to: number): string {
  return clipRuns(runs, from, to)
    .map(({ place, text }) => (place === '' ? text.trim() : `[${place}]\n${text.trim()}`))
    .join('\n\n');
}

function labelTokensOf({ place }: TextRun): number {
  return tokensOf(`[${place}]\n\n`);
}

/** Return the white space between two chunks. Only its length is known. */
function blanks(count: number): string {
  return count <= 0 ? '' : '\n'.repeat(Math.min(count, 2)) + ' '.repeat(Math.max(count - 2, 0));
}
