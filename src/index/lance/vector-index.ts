import type { Table, VectorQuery } from '@lancedb/lancedb';
import { loadLance } from './load-lance.ts';

export const VECTOR_INDEX_NAME = 'vector_idx';
/**
 * Number of rows from which a table has a vector index. In a smaller table, a search compares every vector, in less
 * than 2 ms per thousand rows.
 */
export const VECTOR_INDEX_ROWS_MIN = 20_000;
/** Maximum number of unindexed rows that a search may compare one by one. */
export const VECTOR_INDEX_LATE_ROWS_MAX = 32_768;
/** Bits per vector component after a random rotation: RaBitQ, Gao et al., SIGMOD 2025. */
const BITS = 4;
/** Number of candidates per result that are rescored by exact distance. */
const REFINE_FACTOR = 2;
/**
 * Maximum rows of an index with partitions: at 512 bytes a row, a query can read all partitions together. The average
 * partition is far below the size at which LanceDB splits one (docs/decisions/0052-vector-indexes-in-one-partition.md).
 */
export const SPLIT_ROWS_MAX = 200_000;
const PARTITION_ROWS = 4_096;
/** Number of partitions to probe: more than exist, since the nearest neighbours can be in any partition. */
const PROBES = 1_024;

/** Return true if the table is large enough for a vector index but lacks one. */
export async function lacksVectorIndex(table: Table): Promise<boolean> {
  return (await table.countRows()) >= VECTOR_INDEX_ROWS_MIN && !(await hasVectorIndex(table));
}

/** Return true if a vector search is about as fast as in a settled table. */
export async function hasEnoughVectorsIndexed(table: Table): Promise<boolean> {
  if ((await table.countRows()) < VECTOR_INDEX_ROWS_MIN) return true;
  const stats = await table.indexStats(VECTOR_INDEX_NAME);
  return stats !== undefined && stats.numUnindexedRows <= VECTOR_INDEX_LATE_ROWS_MAX;
}

/**
 * Build an index of the vectors, quantised to an eighth of their size, replacing any existing one. Every search scans
 * the whole index, so filtered results are the same as without it. Until the table is settled, searches read later rows
 * separately.
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

/** Drop the vector index, including content of deleted rows. Settling builds it again. */
export async function dropVectorIndex(table: Table): Promise<void> {
  if (await hasVectorIndex(table)) await table.dropIndex(VECTOR_INDEX_NAME);
}

/** Make a query use the index, if any, and rescore its candidates by exact distance. */
export function throughIndex(query: VectorQuery): VectorQuery {
  return query.nprobes(PROBES).refineFactor(REFINE_FACTOR);
}
