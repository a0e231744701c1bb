import type { VectorOrigin } from '../../embedding/model-choice.ts';
import type { IndexedGeneration } from '../chunk-index.ts';

/** Rows written in one commit, at most. */
const COMMIT_ROWS_MAX = 4_096;

/** Chunks of one generation that wait for a commit. */
export interface Append {
  readonly generation: IndexedGeneration;
  /** Null: the rows have no vectors. */
  readonly origin: VectorOrigin | null;
  /** Id of the run whose new table it goes to; null: the bucket's own table. */
  readonly run: string | null;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Remove from the front what goes into one commit: at least one generation, however many rows it has. */
export function takeBatch(appends: Append[]): Append[] {
  let rows = 0;
  let count = 0;
  for (const append of appends) {
    rows += append.generation.chunks.length;
    if (count > 0 && rows > COMMIT_ROWS_MAX) break;
    count++;
  }
  return appends.splice(0, count);
}

/** Return true if waiting generations have enough rows for a whole commit. */
export function fillCommit(appends: readonly Append[]): boolean {
  return appends.reduce((rows, { generation }) => rows + generation.chunks.length, 0) >= COMMIT_ROWS_MAX;
}

export function generationOf(append: Append): number {
  return append.generation.chunks[0]?.generation ?? 0;
}
