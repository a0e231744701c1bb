import type { Table, VectorQuery } from '@lancedb/lancedb';
import { loadLance } from './load-lance.ts';

export const VECTOR_INDEX_NAME = 'vector_idx';
/** Rows from which a table has a vector index. Below, a search reads every vector, in less than 2 ms per thousand. */
export const VECTOR_INDEX_ROWS_MIN = 20_000;
/** Rows beside the index that a search may read one by one. */
export const VECTOR_INDEX_LATE_ROWS_MAX = 32_768;
/** Bits per component of a vector, after a random rotation: RaBitQ, Gao et al., SIGMOD 2025. */
const BITS = 4;
/** Candidates whose exact distance is computed, per wanted result. */
const REFINE_FACTOR = 2;
/**
 * Rows up to which an index has partitions, whose 512 bytes a row can be read together, and rows of each on average:
 * far fewer than LanceDB splits (docs/decisions/0052-vector-indexes-in-one-partition.md).
 */
export const SPLIT_ROWS_MAX = 200_000;
const PARTITION_ROWS = 4_096;
/** Partitions that a query reads: more than exist, since vectors of many topics have neighbours in any partition. */
const PROBES = 1_024;

/** Return true if the table is large enough for a vector index and has none. */
export async function lacksVectorIndex(table: Table): Promise<boolean> {
  return (await table.countRows()) >= VECTOR_INDEX_ROWS_MIN && !(await hasVectorIndex(table));
}

/** Return true if the vectors of a table can be searched as fast as of a settled one, or nearly so. */
export async function hasEnoughVectorsIndexed(table: Table): Promise<boolean> {
  if ((await table.countRows()) < VECTOR_INDEX_ROWS_MIN) return true;
  const stats = await table.indexStats(VECTOR_INDEX_NAME);
  return stats !== undefined && stats.numUnindexedRows <= VECTOR_INDEX_LATE_ROWS_MAX;
}

/**
 * Build an index of the vectors, quantised to an eighth of their size, that every search reads as a whole, so that
 * filtered results are found as without the index. It replaces the present one. Later rows are searched beside it until
 * the table is settled.
 */
export async function buildVectorIndex(table: Table): Promise<void> {
  const rows = await table.countRows();
  const numPartitions = rows > SPLIT_ROWS_MAX ? 1 : Math.ceil(rows / PARTITION_ROWS);
  const config = loadLance().Index.ivfRq({ distanceType: 'dot', numPartitions, numBits: BITS });
  await table.createIndex('vector', { config, name: VECTOR_INDEX_NAME });
}

export async function hasVectorIndex(table: Table): Promise<boolean> {
  return (await table.listIndices()).some((index) => index.name === VECTOR_INDEX_NAME);
}

/** Drop the vector index, with its content of deleted rows; settling rebuilds it. */
export async function dropVectorIndex(table: Table): Promise<void> {
  if (await hasVectorIndex(table)) await table.dropIndex(VECTOR_INDEX_NAME);
}

/** Make a query use the index if there is one, and rank its candidates by exact distance. */
export function throughIndex(query: VectorQuery): VectorQuery {
  return query.nprobes(PROBES).refineFactor(REFINE_FACTOR);
}
