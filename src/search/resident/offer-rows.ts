import type { RowRange } from './keyword-rows.ts';

/** Computes the cosine similarity of rows to a query, to about 1e-6. */
export interface Refinement {
  /** Rows that are best computed at once. */
  readonly together: number;
  /** @returns the cosine of each row; the next call may overwrite them */
  cosinesOf(rows: readonly number[]): ArrayLike<number>;
}

/** Offer rows with their cosines. Rows are taken one after the other, so that those to come may depend on the offered ones. */
export function offerRows(
  { best, first }: RowRange,
  rows: Iterable<number>,
  { together, cosinesOf }: Refinement,
): void {
  const taken: number[] = [];
  const offer = () => {
    const cosines = cosinesOf(taken);
    for (const [nth, row] of taken.entries()) best.offer(first + row, cosines[nth] as number);
    taken.length = 0;
  };
  for (const row of rows) if (taken.push(row) === together) offer();
  if (taken.length > 0) offer();
}
