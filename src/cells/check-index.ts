import { selectBucketsToIndex } from '../backup/restore-store.ts';
import type { ChunkIndex } from '../index/chunk-index.ts';
import { getIndexTable } from '../index/index-store.ts';
import type { Sql } from '../platform/postgres.ts';
import { type ImportRecord, selectGenerationsOf, selectLiveChunks } from './import-store.ts';

/**
 * Compare the index of every bucket with the chunks of its documents, ignoring documents that the import left out.
 * Return the ids of the buckets whose index lacks chunks.
 */
export async function findIncomplete(
  { sql, chunks }: { readonly sql: Sql; readonly chunks: ChunkIndex },
  orgId: string,
  { leftOut }: Pick<ImportRecord, 'leftOut'>,
): Promise<string[]> {
  const omitted = new Set(await selectGenerationsOf(sql, orgId, leftOut));
  const incomplete: string[] = [];
  const buckets = await selectBucketsToIndex(sql);
  for (const { id } of buckets.filter((bucket) => bucket.orgId === orgId)) {
    const table = await getIndexTable(sql, id);
    const rows = table === null ? new Map<number, number>() : await chunks.countByGeneration(table.name);
    const live = await selectLiveChunks(sql, orgId, id);
    const isWhole = [...live].every(([generation, count]) => omitted.has(generation) || rows.get(generation) === count);
    if (!isWhole) incomplete.push(id);
  }
  return incomplete;
}
