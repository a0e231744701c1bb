import { type Chunk, Packer, type PlacedUnit } from './chunk-packer.ts';
import { type Budget, type CountTokens, unitsOf } from './chunk-units.ts';
import type { Block } from './extract/blocks.ts';

export interface ChunkOptions {
  /** Maximum number of tokens per chunk, unless a single character has more. Default 400. */
  readonly chunkTokens?: number;
  /** Maximum number of tokens, in whole sentences, to repeat from the previous chunk. Default 60. */
  readonly overlapTokens?: number;
  /** Headings above the start of the text that are still open from the previous window. Default none. */
  readonly openHeadings?: readonly OpenHeading[];
  readonly countTokens: CountTokens;
}

export interface OpenHeading {
  readonly level: number;
  readonly text: string;
}

/** Maximum number of characters per token in a chunk; prose has 2 to 5. */
const CHARS_PER_TOKEN_MAX = 32;

/**
 * Split a document into chunks for embedding. A chunk is a sequence of whole sentences, list items, table or code lines
 * in document order, of at most `chunkTokens` tokens.
 *
 * - A sentence is cut only if it alone exceeds the budget; a table or listing only if it doesn't fit into a chunk.
 * - A heading is in the same chunk as the text after it (unless their separate counts exceed the budget together), and
 *   opens a new chunk when the current one is at least an eighth full, ends on another page, or continues a section: a
 *   chunk has several sections only if it contains each of them completely.
 * - A chunk never mixes two files, sheets or slides, or boilerplate with other text.
 * - A paragraph that would be cut starts a new chunk when the current one is three quarters full.
 * - Up to `overlapTokens` of whole sentences are repeated from the previous chunk, never across a heading.
 *
 * `heading_path` lists the headings above the first text of the chunk that is neither heading nor overlap; `places` has
 * the headings and pages of all its text, if there are several.
 * Every character of every block except blanks is in some chunk. Equal input gives equal chunks.
 */
export function chunkDocument(document: { text: string; blocks: readonly Block[] }, options: ChunkOptions): Chunk[] {
  return [...streamChunks(document, options)];
}

/** Yield the chunks of `chunkDocument` one by one, so that a caller can yield to the event loop in between. */
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
  let previous: Block | null = null;
  const endPart = function* () {
    for (const heading of headings) yield* packer.add(heading);
    headings = [];
    yield* packer.close();
  };

  for (const block of blocks) {
    if (previous !== null && !isSamePart(previous, block)) yield* endPart();
    previous = block;
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
  yield* endPart();
}

/** Return true if two blocks may share a chunk. */
function isSamePart(a: Block, b: Block): boolean {
  return a.file === b.file && a.sheet === b.sheet && a.slide === b.slide && a.boilerplate === b.boilerplate;
}

/** Return the headings that are open after these blocks, outermost first. */
export function headingsAfter(blocks: readonly Block[], before: readonly OpenHeading[]): OpenHeading[] {
  const path = [...before];
  for (const block of blocks) if (block.kind === 'heading') openHeading(path, block);
  return path;
}

/** Add a heading to the path, closing headings of its level and below. */
function openHeading(path: OpenHeading[], block: Block): void {
  const level = block.level ?? 1;
  while (path.length > 0 && (path.at(-1)?.level ?? 0) >= level) path.pop();
  path.push({ level, text: block.text });
}
