import type { ChunkIndex } from '../../index/chunk-index.ts';
import { getIndexTable } from '../../index/index-store.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { LiveDocument } from './store.ts';

/**
 * Read the analysed texts of documents from the bucket's current table, which saves analysing them again.
 * @returns a text per chunk, by generation, without documents that have missing rows; empty if the table is unreadable
 */
export async function readStoredTokens(
  { sql, chunks }: { readonly sql: Sql; readonly chunks: ChunkIndex },
  bucketId: string,
  documents: readonly LiveDocument[],
): Promise<Map<number, readonly string[]>> {
  try {
    const table = await getIndexTable(sql, bucketId);
    if (table === null || documents.length === 0) return new Map();
    const found = new Map(documents.map(({ generation, chunksCount }) => [generation, new Array<string>(chunksCount)]));
    const counts = new Map<number, number>();
    for await (const { generation, chunkIndex, tokens } of chunks.readTokens(table, [...found.keys()])) {
      const own = found.get(generation);
      if (!own || !(chunkIndex < own.length) || own[chunkIndex] !== undefined) continue;
      own[chunkIndex] = tokens;
      counts.set(generation, (counts.get(generation) ?? 0) + 1);
    }
    for (const [generation, own] of found) if (counts.get(generation) !== own.length) found.delete(generation);
    return found;
  } catch {
    return new Map(); // The artifacts contain everything that is needed to rebuild the table.
  }
}
