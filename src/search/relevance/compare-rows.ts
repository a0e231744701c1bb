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

/** Compare the rows of a sample with a query. */
export function compareRows(sample: readonly SampledRow[], { vector, terms }: SampleQuery): ComparedRow[] {
  const byHash = Map.groupBy(new Set(terms), hashOf);
  const cosineWith = vector && dotProductWith(vector);
  return sample.map(({ documentId, vector: own, terms: hashes }) => ({
    documentId,
    cosine: cosineWith?.(own) ?? null,
    terms: termsIn(hashes, byHash),
  }));
}

/** Find the terms of the query that a row has: by those of the query or those of the row, whichever are fewer. */
function termsIn(hashes: ReadonlySet<number>, byHash: ReadonlyMap<number, readonly string[]>): ReadonlySet<string> {
  let found: Set<string> | null = null;
  const [few, many] = byHash.size > hashes.size ? [hashes, byHash] : [byHash, hashes];
  for (const hash of few.keys()) {
    if (!many.has(hash)) continue;
    found ??= new Set();
    for (const term of byHash.get(hash) ?? []) found.add(term);
  }
  return found ?? NO_TERMS;
}

/** Hash of a term: FNV-1a of 32 bits. */
export function hashOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
