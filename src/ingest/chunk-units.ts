import { graphemeCut, graphemeEnd } from '../language/graphemes.ts';
import { type Range, safeCut, segmentSentences, trimRange } from '../language/sentences.ts';
import type { Block } from './extract/blocks.ts';

export type CountTokens = (text: string) => number;

/** Size limits of a chunk. */
export interface Budget {
  readonly tokens: number;
  /** Limit for text with almost no tokens, such as a million blanks. */
  readonly chars: number;
}

/** Smallest part of a chunk. It never exceeds the budget. */
export interface Unit extends Range {
  readonly tokens: number;
  readonly page: number | null;
  readonly block: Block;
  /** True for a complete sentence, which the start of the next chunk may repeat. */
  readonly repeatable: boolean;
}

/**
 * Split a block into units. Prose is split into sentences. A table or listing is one unit if it fits completely,
 * otherwise one unit per line. A unit that still exceeds the budget is cut at line breaks, then clauses, then words,
 * then characters.
 * @param headings headings right before the block: a table or listing must fit into a chunk together with them
 */
export function unitsOf(
  text: string,
  block: Block,
  budget: Budget,
  headings: readonly Unit[],
  countTokens: CountTokens,
): Unit[] {
  // A sheet is cited by name.
  const page = block.sheet === undefined ? (block.page ?? null) : null;
  const unit = (range: Range, tokens: number, repeatable: boolean): Unit => ({
    start: range.start,
    end: range.end,
    tokens,
    page,
    block,
    repeatable,
  });
  const units: Unit[] = [];
  const isProse = block.kind !== 'table' && block.kind !== 'code';
  for (const range of isProse ? sentencesOf(text, block, budget) : linesOf(text, block)) {
    const fits = range.end - range.start <= budget.chars;
    const tokens = fits ? countTokens(text.slice(range.start, range.end)) : Number.POSITIVE_INFINITY;
    if (tokens <= budget.tokens) units.push(unit(range, tokens, isProse));
    else for (const part of cut(text, range, budget, countTokens)) units.push(unit(part, part.tokens, false));
  }
  if (isProse || units.length < 2) return units;
  const whole = wholeOf(text, units, budget, headings, countTokens);
  return whole === null ? units : [unit(whole, whole.tokens, false)];
}

/** Join the lines of a table or listing to one segment, or return null if it doesn't fit a chunk with its headings. */
function wholeOf(
  text: string,
  lines: readonly Unit[],
  budget: Budget,
  headings: readonly Unit[],
  countTokens: CountTokens,
): Segment | null {
  const start = (lines[0] as Unit).start;
  const end = (lines.at(-1) as Unit).end;
  const headingTokens = sumTokens(headings);
  // Don't split a table merely because its headings fill half a chunk.
  const beside = headingTokens <= budget.tokens / 2 ? headings : [];
  const from = beside[0]?.start ?? start;
  // Token counts of parts add up only roughly. Far above the budget, counting the whole is unnecessary.
  if (sumTokens(lines) > budget.tokens * 2 || end - from > budget.chars) return null;
  const tokens = countTokens(text.slice(start, end));
  if (sumTokens(beside) + tokens > budget.tokens) return null;
  if (from < start && countTokens(text.slice(from, end)) > budget.tokens) return null;
  return { start, end, tokens };
}

export function sumTokens(units: readonly Unit[]): number {
  return units.reduce((total, { tokens }) => total + tokens, 0);
}

function sentencesOf(text: string, block: Block, budget: Budget): Range[] {
  const { start } = block;
  const sentences = segmentSentences(text.slice(start, block.end), budget.chars);
  return sentences.map((range) => ({ start: start + range.start, end: start + range.end }));
}

function linesOf(text: string, block: Block): Range[] {
  const lines: Range[] = [];
  for (let at = block.start; at < block.end; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 || newline > block.end ? block.end : newline;
    const line = trimRange(text, { start: at, end });
    // Keep the indentation of code, unless the line starts the block.
    if (line !== null) lines.push({ start: lines.length === 0 ? line.start : at, end: line.end });
    at = end + 1;
  }
  return lines;
}

interface Segment extends Range {
  readonly tokens: number;
}

/** Quality of a segment boundary after a word. */
const WORD = 0;
const CLAUSE = 1;
const LINE = 2;

/** Cut a range that exceeds the budget into segments that do not. */
function cut(text: string, range: Range, budget: Budget, countTokens: CountTokens): Segment[] {
  const segments: Segment[] = [];
  let open: Array<Segment & { ending: number }> = [];
  let tokens = 0;
  const closeSegment = (count: number) => {
    const taken = open.slice(0, count);
    segments.push(...joinWords(text, taken, budget, countTokens));
    open = open.slice(count);
    tokens = open.reduce((total, word) => total + word.tokens, 0);
  };
  for (const word of wordsOf(text, range, budget, countTokens)) {
    const first = open[0];
    if (first !== undefined && (tokens + word.tokens > budget.tokens || word.end - first.start > budget.chars)) {
      closeSegment(bestEnding(open));
      // The words left after a clause boundary may still be too many.
      const rest = open[0];
      if (rest !== undefined && (tokens + word.tokens > budget.tokens || word.end - rest.start > budget.chars))
        closeSegment(open.length);
    }
    open.push(word);
    tokens += word.tokens;
  }
  if (open.length > 0) closeSegment(open.length);
  return segments;
}

/**
 * Return the number of words to take: up to the last line break in the second half, else the last clause there, else
 * all.
 */
function bestEnding(words: ReadonlyArray<{ ending: number }>): number {
  let best = words.length;
  let bestEnding = WORD;
  for (let i = words.length - 1; i >= words.length / 2; i--) {
    const { ending } = words[i] as { ending: number };
    if (ending > bestEnding) {
      best = i + 1;
      bestEnding = ending;
    }
  }
  return best;
}

/** Join words to one segment. Split them in halves while the count of the whole exceeds the budget. */
function joinWords(text: string, words: readonly Segment[], budget: Budget, countTokens: CountTokens): Segment[] {
  const start = (words[0] as Segment).start;
  const end = (words.at(-1) as Segment).end;
  if (words.length === 1) return [words[0] as Segment];
  const tokens = countTokens(text.slice(start, end));
  if (tokens <= budget.tokens) return [{ start, end, tokens }];
  const half = words.length >> 1;
  return [
    ...joinWords(text, words.slice(0, half), budget, countTokens),
    ...joinWords(text, words.slice(half), budget, countTokens),
  ];
}

function* wordsOf(
  text: string,
  range: Range,
  budget: Budget,
  countTokens: CountTokens,
): Generator<Segment & { ending: number }> {
  const word = /\S+/g;
  word.lastIndex = range.start;
  let found = word.exec(text);
  while (found !== null && found.index < range.end) {
    const start = found.index;
    const end = Math.min(start + found[0].length, range.end);
    const next = end < range.end ? word.exec(text) : null;
    const gap = next === null ? '' : text.slice(end, Math.min(next.index, end + 4096));
    const ending = gap.includes('\n') ? LINE : /[,;:、，；：·)\]]$/.test(text.slice(end - 1, end)) ? CLAUSE : WORD;
    if (end - start <= budget.chars) {
      const tokens = countTokens(text.slice(start, end));
      if (tokens <= budget.tokens) {
        yield { start, end, tokens, ending };
        found = next;
        continue;
      }
    }
    for (const part of prefixes(text, { start, end }, budget, countTokens)) yield { ...part, ending: WORD };
    found = next;
  }
}

/** Cut a text without blanks, such as a long URL or Base64, into the longest prefixes that fit. */
function* prefixes(text: string, range: Range, budget: Budget, countTokens: CountTokens): Generator<Segment> {
  const count = (start: number, end: number) => countTokens(text.slice(start, end));
  let start = range.start;
  while (start < range.end) {
    // Double the length first, so that at most twice the fitting text is ever counted.
    let fits = start;
    let length = 1;
    let over = range.end + 1;
    while (length <= budget.chars) {
      const end = Math.min(start + length, range.end);
      if (count(start, end) > budget.tokens) {
        over = end;
        break;
      }
      fits = end;
      if (end === range.end) break;
      length *= 2;
    }
    if (over > range.end) over = Math.min(range.end, start + budget.chars) + 1;
    while (over - fits > 1 && fits < range.end) {
      const middle = (fits + over) >> 1;
      if (count(start, middle) > budget.tokens) over = middle;
      else fits = middle;
    }
    let end = fits < range.end ? graphemeCut(text, fits, start) : range.end;
    // Never split a grapheme, whatever its token count, unless it is absurdly long.
    if (end <= start) end = safeCut(text, Math.min(graphemeEnd(text, start, budget.chars), range.end));
    yield { start, end, tokens: count(start, end) };
    start = end;
  }
}
