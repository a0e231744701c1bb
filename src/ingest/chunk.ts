import type { Locator } from '../search/schema.ts';
import { type Budget, type CountTokens, sumTokens, type Unit, unitsOf } from './chunk-units.ts';
import type { Block } from './extract/blocks.ts';

export interface Chunk {
  /** From 0, in the order of the document. */
  readonly index: number;
  /** `document.text.slice(locator.start, locator.end)`. */
  readonly text: string;
  readonly tokenCount: number;
  readonly locator: Locator;
}

export interface ChunkOptions {
  /** No chunk counts more tokens, unless a single character does. Default 400. */
  readonly chunkTokens?: number;
  /** How many tokens of the chunk before, in whole sentences, are repeated at most. Default 60. */
  readonly overlapTokens?: number;
  /** Headings that the document stands under: those that were open where the window before it ended. Default none. */
  readonly openHeadings?: readonly OpenHeading[];
  readonly countTokens: CountTokens;
}

export interface OpenHeading {
  /** From 1. */
  readonly level: number;
  readonly text: string;
}

/** Characters per token that a chunk may hold at most; prose has 2 to 5. */
const CHARS_PER_TOKEN_MAX = 32;
/** From this part of the budget on, a chunk rather ends than takes in the beginning of a paragraph that would be cut. */
const FULL_ENOUGH = 0.75;
/** From this part of the budget on, a chunk ends before the next heading. */
const SECTION_ENOUGH = 1 / 8;

/**
 * Cuts a document into chunks for embedding. A chunk is a run of whole sentences, list items, table or code lines in
 * document order; it counts at most `chunkTokens`.
 *
 * - A sentence is cut only if it alone exceeds the budget; a table or listing only if it does not fit a chunk.
 * - A heading stands in one chunk with the text after it (unless both, counted one by one, exceed the budget), and opens
 *   a new chunk when the current one is at least an eighth full or ends on another page: a citation names one
 *   section, and few sections are too short to be found on their own.
 * - A paragraph that would be cut begins a new chunk when the current one is three quarters full.
 * - `overlapTokens` of whole sentences are repeated from the chunk before, never across a heading.
 *
 * `heading_path` names the headings that enclose the first text of the chunk that is neither heading nor overlap.
 * Every character of every block but blanks is in some chunk. The same input gives the same chunks.
 */
export function chunkDocument(document: { text: string; blocks: readonly Block[] }, options: ChunkOptions): Chunk[] {
  return [...streamChunks(document, options)];
}

/** `chunkDocument`, chunk by chunk, for callers that let the event loop turn in between. */
export function* streamChunks(
  document: { text: string; blocks: readonly Block[] },
  options: ChunkOptions,
): Generator<Chunk> {
  const { text, blocks } = document;
  const { chunkTokens = 400, overlapTokens = 60, openHeadings = [], countTokens } = options;
  const budget: Budget = { tokens: chunkTokens, chars: chunkTokens * CHARS_PER_TOKEN_MAX };
  const packer = new Packer(text, budget, overlapTokens, countTokens);
  const path: OpenHeading[] = [...openHeadings];
  let headingPath: readonly string[] = path.map((heading) => heading.text);
  let headings: Placed[] = [];

  for (const block of blocks) {
    if (block.kind === 'heading') {
      openHeading(path, block);
      headingPath = path.map((heading) => heading.text);
      for (const unit of unitsOf(text, block, budget, [], countTokens))
        headings.push({ ...unit, heading: true, headingPath });
      continue;
    }
    const units: Placed[] = unitsOf(text, block, budget, headings, countTokens).map((unit) => ({
      ...unit,
      heading: false,
      headingPath,
    }));
    const first = units[0];
    if (first === undefined) continue;
    if (headings.length > 0) yield* packer.openSection(headings, first);
    else yield* packer.openParagraph(units);
    headings = [];
    for (const unit of units.slice(1)) yield* packer.add(unit);
  }
  for (const heading of headings) yield* packer.add(heading);
  yield* packer.close();
}

/** The headings that are open after these blocks, outermost first. */
export function headingsAfter(blocks: readonly Block[], before: readonly OpenHeading[]): OpenHeading[] {
  const path = [...before];
  for (const block of blocks) if (block.kind === 'heading') openHeading(path, block);
  return path;
}

/** A heading closes those of its level and below. */
function openHeading(path: OpenHeading[], block: Block): void {
  const level = block.level ?? 1;
  while (path.length > 0 && (path.at(-1)?.level ?? 0) >= level) path.pop();
  path.push({ level, text: block.text });
}

interface Placed extends Unit {
  readonly heading: boolean;
  readonly headingPath: readonly string[];
}

/** Fills chunks one after the other. Counts of units are added up on the way and the whole is counted at the end. */
class Packer {
  readonly #text: string;
  readonly #budget: Budget;
  readonly #overlapTokens: number;
  readonly #countTokens: CountTokens;
  #units: Placed[] = [];
  /** How many of `#units`, at the start, repeat the chunk before. */
  #repeated = 0;
  #tokens = 0;
  #index = 0;

  constructor(text: string, budget: Budget, overlapTokens: number, countTokens: CountTokens) {
    this.#text = text;
    this.#budget = budget;
    this.#overlapTokens = overlapTokens;
    this.#countTokens = countTokens;
  }

  /** Headings and the first unit of what they head. */
  *openSection(headings: readonly Placed[], first: Placed): Generator<Chunk> {
    const together = sumTokens(headings) + first.tokens;
    const start = (headings[0] as Placed).start;
    const ends = () =>
      this.#tokens >= this.#budget.tokens * SECTION_ENOUGH ||
      this.#units.at(-1)?.page !== headings[0]?.page ||
      !this.#fits(together, start, first.end);
    while (this.#hasFresh && ends()) yield this.#emit(null);
    for (const heading of headings) yield* this.add(heading);
    yield* this.add(first);
  }

  /** The first unit of a block without a heading of its own. */
  *openParagraph(units: readonly Placed[]): Generator<Chunk> {
    const first = units[0] as Placed;
    const whole = sumTokens(units);
    const end = (units.at(-1) as Placed).end;
    const freshRoom = this.#budget.tokens - this.#overlapTokens;
    if (
      this.#tokens >= this.#budget.tokens * FULL_ENOUGH &&
      whole <= freshRoom &&
      !this.#fits(whole, first.start, end)
    ) {
      if (this.#hasFresh) yield this.#emit(first);
    }
    yield* this.add(first);
  }

  *add(unit: Placed): Generator<Chunk> {
    while (this.#hasFresh && !this.#fits(unit.tokens, unit.start, unit.end)) yield this.#emit(unit);
    // What was repeated may still stand in the way.
    if (!this.#fits(unit.tokens, unit.start, unit.end)) this.#restart([]);
    this.#units.push(unit);
    this.#tokens += unit.tokens;
  }

  *close(): Generator<Chunk> {
    while (this.#hasFresh) yield this.#emit(null);
  }

  get #hasFresh(): boolean {
    return this.#units.length > this.#repeated;
  }

  #fits(tokens: number, start: number, end: number): boolean {
    const first = this.#units[0]?.start ?? start;
    return this.#tokens + tokens <= this.#budget.tokens && end - first <= this.#budget.chars;
  }

  /**
   * A chunk of the units so far, or of as many as the count of their text allows; the others begin the next one,
   * after the sentences that are repeated before `next`.
   */
  #emit(next: Placed | null): Chunk {
    let tokens = this.#countOf(this.#units);
    if (tokens > this.#budget.tokens && this.#repeated > 0) {
      this.#restart(this.#units.slice(this.#repeated));
      tokens = this.#countOf(this.#units);
    }
    let taken = this.#units;
    while (tokens > this.#budget.tokens && taken.length > 1) {
      let keep = taken.length - 1;
      while (keep > 1 && taken[keep - 1]?.heading) keep--;
      taken = taken.slice(0, keep);
      tokens = this.#countOf(taken);
    }
    const chunk = this.#toChunk(taken, tokens);
    const rest = this.#units.slice(taken.length);
    const follower = rest[0] ?? next;
    const repeated = follower === null || follower.heading ? [] : this.#repeat(taken, rest, follower);
    this.#restart([...repeated, ...rest]);
    this.#repeated = repeated.length;
    return chunk;
  }

  #restart(units: Placed[]): void {
    this.#units = units;
    this.#tokens = sumTokens(units);
    this.#repeated = 0;
  }

  /** Whole sentences from the end of a chunk, as many as the overlap and the room before `next` allow. */
  #repeat(taken: readonly Placed[], rest: readonly Unit[], next: Unit): Placed[] {
    const room = Math.min(this.#overlapTokens, this.#budget.tokens - (rest.length > 0 ? sumTokens(rest) : next.tokens));
    let from = taken.length;
    let tokens = 0;
    // Never all of it: a chunk that only adds to the one before would make that one useless.
    while (from > 1) {
      const unit = taken[from - 1] as Placed;
      const tooFar = next.end - unit.start > this.#budget.chars;
      if (!unit.repeatable || unit.heading || tokens + unit.tokens > room || tooFar) break;
      tokens += unit.tokens;
      from--;
    }
    return taken.slice(from);
  }

  #countOf(units: readonly Placed[]): number {
    const first = units[0] as Placed;
    if (units.length === 1) return first.tokens;
    return this.#countTokens(this.#text.slice(first.start, (units.at(-1) as Placed).end));
  }

  #toChunk(units: readonly Placed[], tokenCount: number): Chunk {
    const { start, page } = units[0] as Placed;
    const { end, page: pageEnd } = units.at(-1) as Placed;
    const fresh = units.slice(this.#repeated);
    const { headingPath } = fresh.find((unit) => !unit.heading) ?? (fresh.at(-1) as Placed);
    return {
      index: this.#index++,
      text: this.#text.slice(start, end),
      tokenCount,
      locator: { page, page_end: pageEnd, heading_path: [...headingPath], start, end },
    };
  }
}
