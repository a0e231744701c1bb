import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { ComparedRow, SampleQuery } from './chunk-index.ts';

/** Row of an index sample. */
export interface SampledRow {
  readonly documentId: string;
  /** Float32Array [1024], L2-normalised. */
  readonly vector: Float32Array;
  /** Hashes of the row's terms. The sample stores no document text. */
  readonly terms: ReadonlySet<number>;
}

/** Shared empty set, since most rows contain no query term. */
const NO_TERMS: ReadonlySet<string> = new Set();

/** Sample of an index's rows, with an inverted index of term hashes. */
export class RowSample {
  readonly #documentIds: readonly string[];
  /**
   * Vectors by component, Float32Array [1024 x rows]. A query with few components reads only those, each contiguously.
   */
  readonly #components: Float32Array;
  readonly #rowsByHash = new Map<number, number[]>();

  constructor(rows: readonly SampledRow[]) {
    this.#documentIds = rows.map(({ documentId }) => documentId);
    this.#components = new Float32Array(INDEX_DIMENSIONS * rows.length);
    for (const [row, { vector, terms }] of rows.entries()) {
      for (let at = 0; at < INDEX_DIMENSIONS; at++) this.#components[at * rows.length + row] = vector[at] as number;
      for (const hash of terms) {
        const known = this.#rowsByHash.get(hash);
        if (known) known.push(row);
        else this.#rowsByHash.set(hash, [row]);
      }
    }
  }

  get size(): number {
    return this.#documentIds.length;
  }

  /** Compare all rows with a query. */
  compare({ vector, terms }: SampleQuery): ComparedRow[] {
    const cosines = vector && this.#cosinesWith(vector);
    const found = this.#find(terms);
    return this.#documentIds.map((documentId, row) => ({
      documentId,
      cosine: cosines?.[row] ?? null,
      terms: found.get(row) ?? NO_TERMS,
    }));
  }

  /** Compute the dot products of all vectors with a vector. */
  #cosinesWith(vector: Float32Array): Float64Array {
    const [components, rows] = [this.#components, this.size];
    const cosines = new Float64Array(rows);
    for (let at = 0; at < INDEX_DIMENSIONS; at++) {
      const factor = vector[at] as number;
      if (factor === 0) continue;
      for (let row = 0, from = at * rows; row < rows; row++) {
        cosines[row] = (cosines[row] as number) + factor * (components[from + row] as number);
      }
    }
    return cosines;
  }

  /** Find the rows that contain any of these terms, with those terms. */
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

/** Hash a term with 32-bit FNV-1a. */
export function hashOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
