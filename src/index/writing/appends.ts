import type { VectorOrigin } from '../../embedding/model-choice.ts';
import type { IndexedGeneration } from '../chunk-index.ts';

/** Maximum number of rows per commit. */
const COMMIT_ROWS_MAX = 4_096;

/** Chunks of one generation waiting for a commit. */
export interface Append {
  readonly generation: IndexedGeneration;
  /** Null if the rows have no vectors. */
  readonly origin: VectorOrigin | null;
  /** Id of the run that builds the target table; null for the bucket's own table. */
  readonly run: string | null;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Remove the generations of one commit from the front: at least one, whatever its size. */
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

/** Return true if the waiting generations fill a commit. */
export function fillCommit(appends: readonly Append[]): boolean {
  return appends.reduce((rows, { generation }) => rows + generation.chunks.length, 0) >= COMMIT_ROWS_MAX;
}

export function generationOf(append: Append): number {
  return append.generation.chunks[0]?.generation ?? 0;
}
