import { BestRows } from './best-rows.ts';
import type { ComparedColumns, RowQuery } from './protocol.ts';
import type { ResidentTable } from './resident-table.ts';

/** Compare all rows of a table with a query. */
export function compareAll(table: ResidentTable, { vector, terms }: Omit<RowQuery, 'table'>): ComparedColumns {
  const rows = table.presentRows();
  return {
    documentIds: rows.map((row) => table.documentIdOf(row)),
    cosines: vector && cosinesOf(table, rows, vector),
    terms: table.keywords.matchTerms(terms, rows),
  };
}

/** Compute the cosine similarity of a row and a vector: Float32Array [1024]. */
export function cosineOf(table: ResidentTable, row: number, vector: Float32Array): number {
  return cosinesOf(table, [row], vector)[0] as number;
}

function cosinesOf({ vectors }: ResidentTable, rows: readonly number[], vector: Float32Array): Float64Array {
  const best = new BestRows(rows.length, String);
  vectors.offerRows(vector, rows, { best, first: 0 });
  const byRow = new Map(best.toSorted().map(({ row, score }) => [row, score]));
  return Float64Array.from(rows, (row) => byRow.get(row) as number);
}
