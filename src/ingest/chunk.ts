import type { Locator } from '../search/schema.ts';
import { type Budget, type CountTokens, sumTokens, type Unit, unitsOf } from './chunk-units.ts';
import type { Block } from './extract/blocks.ts';

export interface Chunk {
  /** Index from 0, in the order of the document. */
  readonly index: number;
  /** Text of the chunk: `document.text.slice(locator.start, locator.end)`. */
  readonly text: string;
  readonly tokenCount: number;
  readonly locator: Locator;
}

export interface ChunkOptions {
  /** Maximum of tokens in a chunk, unless a single character has more. Default 400. */
  readonly chunkTokens?: number;
  /** Maximum of tokens that are repeated, in whole sentences, from the previous chunk. Default 60. */
  readonly overlapTokens?: number;
  /** Headings that enclose the start of the text: those open at the end of the previous window. Default none. */
  readonly openHeadings?: readonly OpenHeading[];
  readonly countTokens: CountTokens;
}

export interface OpenHeading {
  /** Level from 1. */
  readonly level: number;
  readonly text: string;
}

/** Maximum of characters per token in a chunk; prose has 2 to 5. */
const CHARS_PER_TOKEN_MAX = 32;
/** Fill ratio from which a chunk ends before a paragraph that would not fit as a whole. */
const PARAGRAPH_BREAK_RATIO = 0.75;
/** Fill ratio from which a chunk ends before the next heading. */
const SECTION_BREAK_RATIO = 1 / 8;

/**
 * Cuts a document into chunks for embedding. A chunk is a sequence of whole sentences, list items, table or code lines
 * in document order; it has at most `chunkTokens` tokens.
 *
 * - A sentence is cut only if it alone exceeds the budget; a table or listing only if it does not fit into a chunk.
 * - A heading is in one chunk with the text after it (unless their separate counts exceed the budget together), and
 *   opens a new chunk when the current one is at least an eighth full or ends on another page: a citation names one
 *   section, and few sections are too short to be found on their own.
 * - A paragraph that would be cut begins a new chunk when the current one is three quarters full.
 * - Up to `overlapTokens` of whole sentences are repeated from the previous chunk, never across a heading.
 *
 * `heading_path` names the headings that enclose the first text of the chunk that is neither heading nor overlap.
 * Every character of every block except blanks is in some chunk. The same input gives the same chunks.
 */
export function chunkDocument(document: { text: string; blocks: readonly Block[] }, options: ChunkOptions): Chunk[] {
  return [...streamChunks(document, options)];
}

/** Yields the chunks of `chunkDocument` one by one, for callers that yield to the event loop in between. */
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
  let headings: PlacedUnit[] = [];

  for (const block of blocks) {
    if (block.kind === 'heading') {
      openHeading(path, block);
      headingPath = path.map((heading) => heading.text);
      for (const unit of unitsOf(text, block, budget, [], countTokens))
        headings.push({ ...unit, heading: true, headingPath });
      continue;
    }
    const units: PlacedUnit[] = unitsOf(text, block, budget, headings, countTokens).map((unit) => ({
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

/** Headings that are open after these blocks, outermost first. */
export function headingsAfter(blocks: readonly Block[], before: readonly OpenHeading[]): OpenHeading[] {
  const path = [...before];
  for (const block of blocks) if (block.kind === 'heading') openHeading(path, block);
  return path;
}

/** Adds a heading to the path; it closes the headings of its level and below. */
function openHeading(path: OpenHeading[], block: Block): void {
  const level = block.level ?? 1;
  while (path.length > 0 && (path.at(-1)?.level ?? 0) >= level) path.pop();
  path.push({ level, text: block.text });
}

interface PlacedUnit extends Unit {
  readonly heading: boolean;
  readonly headingPath: readonly string[];
}

/**
 * Fills chunks one after the other. The counts of units are added up while a chunk is filled; its whole text is counted
 * at the end.
 */
class Packer {
  readonly #text: string;
  readonly #budget: Budget;
  readonly #overlapTokens: number;
  readonly #countTokens: CountTokens;
  #units: PlacedUnit[] = [];
  /** Number of units at the start of `#units` that repeat the previous chunk. */
  #repeated = 0;
  #tokens = 0;
  #index = 0;

  constructor(text: string, budget: Budget, overlapTokens: number, countTokens: CountTokens) {
    this.#text = text;
    this.#budget = budget;
    this.#overlapTokens = overlapTokens;
    this.#countTokens = countTokens;
  }

  /** Adds headings sectionTokens with the first unit below them. */
  *openSection(headings: readonly PlacedUnit[], first: PlacedUnit): Generator<Chunk> {
    const sectionTokens = sumTokens(headings) + first.tokens;
    const start = (headings[0] as PlacedUnit).start;
    const ends = () =>
      this.#tokens >= this.#budget.tokens * SECTION_BREAK_RATIO ||
      this.#units.at(-1)?.page !== headings[0]?.page ||
      !this.#fits(sectionTokens, start, first.end);
    while (this.#hasFresh && ends()) yield this.#emit(null);
    for (const heading of headings) yield* this.add(heading);
    yield* this.add(first);
  }

  /** Adds the first unit of a block that has no heading of its own. */
  *openParagraph(units: readonly PlacedUnit[]): Generator<Chunk> {
    const first = units[0] as PlacedUnit;
    const whole = sumTokens(units);
    const end = (units.at(-1) as PlacedUnit).end;
    const freshTokens = this.#budget.tokens - this.#overlapTokens;
    if (
      this.#tokens >= this.#budget.tokens * PARAGRAPH_BREAK_RATIO &&
      whole <= freshTokens &&
      !this.#fits(whole, first.start, end)
    ) {
      if (this.#hasFresh) yield this.#emit(first);
    }
    yield* this.add(first);
  }

  *add(unit: PlacedUnit): Generator<Chunk> {
    while (this.#hasFresh && !this.#fits(unit.tokens, unit.start, unit.end)) yield this.#emit(unit);
    // The repeated sentences may take the space that the unit needs.
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
   * Makes a chunk of the units so far, or of as many as the count of their text allows; the others begin the next
   * chunk, after the sentences that are repeated before `next`.
   */
  #emit(next: PlacedUnit | null): Chunk {
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
    const following = rest[0] ?? next;
    const repeated = following === null || following.heading ? [] : this.#repeat(taken, rest, following);
    this.#restart([...repeated, ...rest]);
    this.#repeated = repeated.length;
    return chunk;
  }

  #restart(units: PlacedUnit[]): void {
    this.#units = units;
    this.#tokens = sumTokens(units);
    this.#repeated = 0;
  }

  /** Selects whole sentences from the end of a chunk, as many as the overlap and the space before `next` allow. */
  #repeat(taken: readonly PlacedUnit[], rest: readonly Unit[], next: Unit): PlacedUnit[] {
    const tokensMax = Math.min(
      this.#overlapTokens,
      this.#budget.tokens - (rest.length > 0 ? sumTokens(rest) : next.tokens),
    );
    let from = taken.length;
    let tokens = 0;
    // A chunk is never repeated as a whole: the next one would then contain it and make it useless.
    while (from > 1) {
      const unit = taken[from - 1] as PlacedUnit;
      const tooFar = next.end - unit.start > this.#budget.chars;
      if (!unit.repeatable || unit.heading || tokens + unit.tokens > tokensMax || tooFar) break;
      tokens += unit.tokens;
      from--;
    }
    return taken.slice(from);
  }

  #countOf(units: readonly PlacedUnit[]): number {
    const first = units[0] as PlacedUnit;
    if (units.length === 1) return first.tokens;
    return this.#countTokens(this.#text.slice(first.start, (units.at(-1) as PlacedUnit).end));
  }

  #toChunk(units: readonly PlacedUnit[], tokenCount: number): Chunk {
    const { start, page } = units[0] as PlacedUnit;
    const { end, page: pageEnd } = units.at(-1) as PlacedUnit;
    const fresh = units.slice(this.#repeated);
    const { headingPath } = fresh.find((unit) => !unit.heading) ?? (fresh.at(-1) as PlacedUnit);
    return {
      index: this.#index++,
      text: this.#text.slice(start, end),
      tokenCount,
      locator: { page, page_end: pageEnd, heading_path: [...headingPath], start, end },
    };
  }
}
