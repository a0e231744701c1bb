import { getIndexTable } from '../../index/index-store.ts';
import type { LanceTables } from '../../index/lance/lance.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { LiveDocument } from './store.ts';

/**
 * Read the analysed texts of documents from the table that searches of their bucket use, so that they need not be
 * analysed again.
 *
 * @returns a text for each chunk, by generation; documents are left out whose rows are not all there, and all of them if
 *   the table cannot be read
 */
export async function readStoredTokens(
  { sql, tables }: { readonly sql: Sql; readonly tables: LanceTables },
  bucketId: string,
  documents: readonly LiveDocument[],
): Promise<Map<number, readonly string[]>> {
  try {
    const own = await getIndexTable(sql, bucketId);
    const table = own && (await tables.openForReading(own.name, own.version));
    if (!table || documents.length === 0) return new Map();
    const found = new Map(documents.map(({ generation, chunksCount }) => [generation, new Array<string>(chunksCount)]));
    const counts = new Map<number, number>();
    const isWanted = `generation IN (${[...found.keys()].map(Number).join(', ')})`;
    for await (const batch of table.query().where(isWanted).select(['generation', 'chunk_index', 'tokens'])) {
      const [generations, indexes, tokens] = ['generation', 'chunk_index', 'tokens'].map((name) =>
        batch.getChild(name),
      );
      for (let row = 0; row < batch.numRows; row++) {
        const generation = Number(generations?.get(row));
        const own = found.get(generation);
        const index = Number(indexes?.get(row));
        if (!own || !(index < own.length) || own[index] !== undefined) continue;
        own[index] = String(tokens?.get(row));
        counts.set(generation, (counts.get(generation) ?? 0) + 1);
      }
    }
    for (const [generation, own] of found) if (counts.get(generation) !== own.length) found.delete(generation);
    return found;
  } catch {
    return new Map(); // The table is rebuilt from the artifacts, too: nothing depends on it.
  }
}
