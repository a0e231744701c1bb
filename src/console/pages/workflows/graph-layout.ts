import type { BlockShape } from './definition.ts';

/** Block of the picture, with its column and row. */
export interface PlacedBlock {
  readonly block: BlockShape;
  readonly column: number;
  readonly row: number;
}

interface GraphLayout {
  readonly blocks: readonly PlacedBlock[];
  readonly edges: readonly (readonly [from: PlacedBlock, to: PlacedBlock])[];
  readonly columns: number;
  readonly rows: number;
}

const REFERENCE = /\{\{\s*blocks\.([a-z0-9_-]+)/g;

/** List the blocks that must finish before a block starts: those that it references, and those in `after`. */
function needsOf({ after = [], if: condition, with: values }: BlockShape): ReadonlySet<string> {
  const text = JSON.stringify([values ?? {}, condition ?? '']);
  const named = Array.from(text.matchAll(REFERENCE), ([, id]) => id as string);
  return new Set([...after, ...named, ...(condition === undefined ? [] : [condition])]);
}

/** Put each block into the column after the last one that it needs. The service refuses cycles. */
export function layOut(blocks: readonly BlockShape[]): GraphLayout {
  const byId = new Map(blocks.map((block) => [block.id, block]));
  const columns = new Map<string, number>();
  const columnOf = (block: BlockShape): number => {
    const known = columns.get(block.id);
    if (known !== undefined) return known;
    columns.set(block.id, 0);
    const needed = [...needsOf(block)].flatMap((id) => byId.get(id) ?? []);
    const column = Math.max(-1, ...needed.map(columnOf)) + 1;
    columns.set(block.id, column);
    return column;
  };
  const heights: number[] = [];
  const placed = blocks.map((block) => {
    const column = columnOf(block);
    const row = heights[column] ?? 0;
    heights[column] = row + 1;
    return { block, column, row };
  });
  const places = new Map(placed.map((place) => [place.block.id, place]));
  const edges = placed.flatMap((to) =>
    [...needsOf(to.block)].flatMap((id) => {
      const from = places.get(id);
      return from === undefined ? [] : [[from, to] as const];
    }),
  );
  return { blocks: placed, edges, columns: heights.length, rows: Math.max(0, ...heights.map((height) => height ?? 0)) };
}
