import { Index, type Table, type VectorQuery } from '@lancedb/lancedb';

export const VECTOR_INDEX_NAME = 'vector_idx';
/** Below this every vector is read for a search, which takes less than 2 ms for each thousand. */
const ROWS_MIN = 20_000;
/** Of each number of a vector, after a random rotation: RaBitQ, Gao et al., SIGMOD 2025. */
const BITS = 4;
/** Candidates whose true distance is computed, for each that is wanted. */
const REFINE_FACTOR = 2;
/** More than there are: vectors of many topics have their neighbours in any partition. */
const PROBES = 1_024;

/** Whether the table is so large that it should have an index of its vectors, and has none. */
export async function lacksVectorIndex(table: Table): Promise<boolean> {
  return (await table.countRows()) >= ROWS_MIN && !(await hasVectorIndex(table));
}

/**
 * An index of the vectors: all of them in an eighth of their size, in one partition that every search reads as a whole. So
 * what a filter leaves is found as without the index. Rows that come later are searched beside it, until `optimize` takes
 * them in.
 */
export async function buildVectorIndex(table: Table): Promise<void> {
  const config = Index.ivfRq({ distanceType: 'dot', numPartitions: 1, numBits: BITS });
  await table.createIndex('vector', { config, name: VECTOR_INDEX_NAME });
}

async function hasVectorIndex(table: Table): Promise<boolean> {
  return (await table.listIndices()).some((index) => index.name === VECTOR_INDEX_NAME);
}

/** What it holds of rows that are gone goes with it; settling builds it anew. */
export async function dropVectorIndex(table: Table): Promise<void> {
  if (await hasVectorIndex(table)) await table.dropIndex(VECTOR_INDEX_NAME);
}

/** Has the index answer where there is one, and the true distance decide among what it names. */
export function throughIndex(query: VectorQuery): VectorQuery {
  return query.nprobes(PROBES).refineFactor(REFINE_FACTOR);
}
