import type { Table, VectorQuery } from '@lancedb/lancedb';
import { loadLance } from './load-lance.ts';

export const VECTOR_INDEX_NAME = 'vector_idx';
/**
 * Number of rows from which a table has a vector index. In a smaller table, a search reads every vector, in less than 2
 * ms per thousand.
 */
export const VECTOR_INDEX_ROWS_MIN = 20_000;
/** Maximum number of unindexed rows that a search reads one by one. */
export const VECTOR_INDEX_LATE_ROWS_MAX = 32_768;
/** Bits per component of a vector, after a random rotation: RaBitQ, Gao et al., SIGMOD 2025. */
const BITS = 4;
/** Number of candidates per wanted result whose exact distance is computed. */
const REFINE_FACTOR = 2;
/**
 * Number of rows up to which an index is partitioned: with 512 bytes a row, a query can read all partitions together.
 * The average number of rows of a partition is far below the size at which LanceDB splits one
 * (docs/decisions/0052-vector-indexes-in-one-partition.md).
 */
export const SPLIT_ROWS_MAX = 200_000;
const PARTITION_ROWS = 4_096;
/**
 * Number of partitions that a query reads: more than there are, since neighbours of a vector can be in any partition.
 */
const PROBES = 1_024;

/** Return true if the table is large enough for a vector index and has none. */
export async function lacksVectorIndex(table: Table): Promise<boolean> {
  return (await table.countRows()) >= VECTOR_INDEX_ROWS_MIN && !(await hasVectorIndex(table));
}

/** Return true if searching the vectors of a table is about as fast as in a settled table. */
export async function hasEnoughVectorsIndexed(table: Table): Promise<boolean> {
  if ((await table.countRows()) < VECTOR_INDEX_ROWS_MIN) return true;
  const stats = await table.indexStats(VECTOR_INDEX_NAME);
  return stats !== undefined && stats.numUnindexedRows <= VECTOR_INDEX_LATE_ROWS_MAX;
}

/**
 * Build an index of the vectors, quantised to an eighth of their size, in place of the present one. Every search reads
 * all of it, so that filtered results are the same as without the index. Until the table is settled, searches read
 * later rows separately.
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

/** Drop the vector index, including its content of deleted rows. Settling builds it again. */
export async function dropVectorIndex(table: Table): Promise<void> {
  if (await hasVectorIndex(table)) await table.dropIndex(VECTOR_INDEX_NAME);
}

/** Make a query use the index if there is one, and rank its candidates by exact distance. */
export function throughIndex(query: VectorQuery): VectorQuery {
  return query.nprobes(PROBES).refineFactor(REFINE_FACTOR);
}
