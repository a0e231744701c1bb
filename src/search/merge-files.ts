import type { Table } from '@lancedb/lancedb';
import { buildTokenIndex } from './lance.ts';

/** Rows up to which the keyword index is built anew, in a second at most. */
const TOKENS_REBUILT_ROWS_MAX = 65_536;

/**
 * Merge the small files of a table, remove its old versions, and bring its indexes up to date.
 *
 * If that has changed the table, the keyword index is then built anew, as one part: where `optimize` has merged rows into an
 * index as a part of their own, LanceDB 0.31 prunes the candidates of one part by scores of another, which have other
 * statistics, and misses most of the best rows for common words (lance pull request 8748, in later versions). Larger
 * tables keep the parts, and so does a table whose merge was killed in between, until the next one that changes it.
 *
 * @param cleanupOlderThanMs versions older than this are removed; milliseconds since 1970
 */
export async function mergeFiles(table: Table, cleanupOlderThanMs: number): Promise<void> {
  const before = await table.version();
  await table.optimize({ cleanupOlderThan: new Date(cleanupOlderThanMs) });
  if ((await table.version()) === before) return;
  if ((await table.countRows()) <= TOKENS_REBUILT_ROWS_MAX) await buildTokenIndex(table);
}
