import type { ChunkPlace, Locator } from '../documents/locator.ts';
import { type Budget, type CountTokens, sumTokens, type Unit } from './chunk-units.ts';

export interface Chunk {
  /** Index from 0, in document order. */
  readonly index: number;
  /** Text of the chunk: `document.text.slice(locator.start, locator.end)`. */
  readonly text: string;
  readonly tokenCount: number;
  readonly locator: Locator;
}

/** Fill ratio from which a chunk ends before a paragraph that doesn't fit completely. */
const PARAGRAPH_BREAK_RATIO = 0.75;
/** Fill ratio from which a chunk ends before the next heading. */
const SECTION_BREAK_RATIO = 1 / 8;

export interface PlacedUnit extends Unit {
  readonly heading: boolean;
  readonly headingPath: readonly string[];
  /** True for the first heading of a section. */
  readonly opensSection?: boolean;
}

/**
 * Packer that fills chunks one by one. It sums token counts of units while filling a chunk, and counts the whole text
 * at the end.
 */
export class Packer {
  readonly #text: string;
  readonly #budget: Budget;
  readonly #overlapTokens: number;
  readonly #countTokens: CountTokens;
  #units: PlacedUnit[] = [];
  /** Number of units at the start of `#units` that repeat the previous chunk. */
  #repeated = 0;
  #tokens = 0;
  #index = 0;
  /** True if the units so far continue the previous chunk's last section. */
  #continuesSection = false;

  constructor(text: string, budget: Budget, overlapTokens: number, countTokens: CountTokens) {
    this.#text = text;
    this.#budget = budget;
    this.#overlapTokens = overlapTokens;
    this.#countTokens = countTokens;
  }

  /** Add headings together with the first unit below them. */
  *openSection(headings: readonly PlacedUnit[], first: PlacedUnit): Generator<Chunk> {
    const sectionTokens = sumTokens(headings) + first.tokens;
    const start = (headings[0] as PlacedUnit).start;
    const ends = () =>
      this.#tokens >= this.#budget.tokens * SECTION_BREAK_RATIO ||
      this.#continuesSection ||
      this.#units.at(-1)?.page !== headings[0]?.page ||
      !this.#fits(sectionTokens, start, first.end);
    while (this.#hasFresh && ends()) yield this.#emit(null);
    this.#continuesSection = false;
    for (const [at, heading] of headings.entries()) yield* this.add({ ...heading, opensSection: at === 0 });
    yield* this.add(first);
  }

  /** Add the first unit of a block without a heading of its own. */
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
    // The repeated sentences may occupy the space that the unit needs.
    if (!this.#fits(unit.tokens, unit.start, unit.end)) this.#restart([]);
    this.#units.push(unit);
    this.#tokens += unit.tokens;
  }

  /** End the current chunk. The next one repeats nothing of it. */
  *close(): Generator<Chunk> {
    while (this.#hasFresh) yield this.#emit(null);
    this.#restart([]);
    this.#continuesSection = false;
  }

  get #hasFresh(): boolean {
    return this.#units.length > this.#repeated;
  }

  #fits(tokens: number, start: number, end: number): boolean {
    const first = this.#units[0]?.start ?? start;
    return this.#tokens + tokens <= this.#budget.tokens && end - first <= this.#budget.chars;
  }

  /**
   * Create a chunk from the units so far, or from as many as the token count of their text allows. The rest starts the
   * next chunk, after the sentences that are repeated before `next`.
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
    const isCut = taken.length < this.#units.length || (next !== null && !next.heading);
    const lastSection = taken.findLastIndex((unit) => unit.opensSection);
    if (isCut && lastSection > this.#repeated && lastSection < taken.length) {
      taken = taken.slice(0, lastSection);
      tokens = this.#countOf(taken);
    }
    const chunk = this.#toChunk(taken, tokens);
    const rest = this.#units.slice(taken.length);
    const following = rest[0] ?? next;
    this.#continuesSection = following !== null && !following.heading;
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

  /** Select whole sentences from the end of a chunk, as many as the overlap and the space before `next` allow. */
  #repeat(taken: readonly PlacedUnit[], rest: readonly Unit[], next: Unit): PlacedUnit[] {
    const tokensMax = Math.min(
      this.#overlapTokens,
      this.#budget.tokens - (rest.length > 0 ? sumTokens(rest) : next.tokens),
    );
    let from = taken.length;
    let tokens = 0;
    // Never repeat a complete chunk, which would be redundant within the next one.
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
    const { start, page, block } = units[0] as PlacedUnit;
    const { end, page: pageEnd } = units.at(-1) as PlacedUnit;
    const fresh = units.slice(this.#repeated);
    const { headingPath } = fresh.find((unit) => !unit.heading) ?? (fresh.at(-1) as PlacedUnit);
    const text = this.#text.slice(start, end);
    const { file, sheet, slide, header, boilerplate } = block;
    const places = placesOf(units);
    return {
      index: this.#index++,
      text,
      tokenCount,
      locator: {
        page,
        page_end: pageEnd,
        heading_path: [...headingPath],
        start,
        end,
        ...(file === undefined ? {} : { file }),
        ...(sheet === undefined ? {} : { sheet }),
        ...(slide === undefined ? {} : { slide }),
        ...(header === undefined || text.includes(header) ? {} : { table_header: header }),
        ...(boilerplate ? { boilerplate } : {}),
        ...(places.length > 1 ? { places } : {}),
      },
    };
  }
}

/** Return the places of the units in order. A heading takes the place of the text below it. */
function placesOf(units: readonly PlacedUnit[]): ChunkPlace[] {
  const places: ChunkPlace[] = [];
  let below: PlacedUnit | null = null;
  let path: readonly string[] | null = null;
  for (const unit of [...units].reverse()) {
    const own: PlacedUnit = unit.heading && below !== null ? below : unit;
    below = own;
    const last = places.at(-1);
    if (last !== undefined && last.page === own.page && path === own.headingPath) {
      places[places.length - 1] = { ...last, start: unit.start };
    } else {
      places.push({ start: unit.start, page: own.page, heading_path: [...own.headingPath] });
      path = own.headingPath;
    }
  }
  return places.reverse();
}
