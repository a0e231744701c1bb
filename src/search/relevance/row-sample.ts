import { dotProductWith } from '../dot-product.ts';
import type { ComparedRow } from './background.ts';

/** Row of the sample of an index. */
export interface SampledRow {
  readonly documentId: string;
  /** Float32Array [1024], L2-normalised. */
  readonly vector: Float32Array;
  /** Hashes of its terms: no text of a document is kept. */
  readonly terms: ReadonlySet<number>;
}

/** Query that a sample is compared with. */
export interface SampleQuery {
  /** Float32Array [1024], L2-normalised; null: it has none, or it cannot be compared. */
  readonly vector: Float32Array | null;
  readonly terms: readonly string[];
}

/** Most rows have no term of a query. */
const NO_TERMS: ReadonlySet<string> = new Set();

/** Sample of the rows of an index, with an inverted index of the hashes of their terms. */
export class RowSample {
  readonly #rows: readonly Pick<SampledRow, 'documentId' | 'vector'>[];
  readonly #rowsByHash = new Map<number, number[]>();

  constructor(rows: readonly SampledRow[]) {
    this.#rows = rows.map(({ documentId, vector }) => ({ documentId, vector }));
    for (const [row, { terms }] of rows.entries()) {
      for (const hash of terms) {
        const known = this.#rowsByHash.get(hash);
        if (known) known.push(row);
        else this.#rowsByHash.set(hash, [row]);
      }
    }
  }

  get size(): number {
    return this.#rows.length;
  }

  /** Compare all rows with a query. */
  compare({ vector, terms }: SampleQuery): ComparedRow[] {
    const cosineWith = vector && dotProductWith(vector);
    const found = this.#find(terms);
    return this.#rows.map(({ documentId, vector: own }, row) => ({
      documentId,
      cosine: cosineWith?.(own) ?? null,
      terms: found.get(row) ?? NO_TERMS,
    }));
  }

  /** Find the rows that have terms, with those terms. */
  #find(terms: readonly string[]): Map<number, Set<string>> {
    const found = new Map<number, Set<string>>();
    for (const term of terms) {
      for (const row of this.#rowsByHash.get(hashOf(term)) ?? []) {
        const own = found.get(row);
        if (own) own.add(term);
        else found.set(row, new Set([term]));
      }
    }
    return found;
  }
}

/** Hash of a term: FNV-1a of 32 bits. */
export function hashOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
