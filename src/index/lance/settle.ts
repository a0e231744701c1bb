import type { Table } from '@lancedb/lancedb';
import { AppError } from '../../platform/errors.ts';
import type { SettleOptions } from '../chunk-index.ts';
import { KEEP_VERSIONS_MS } from '../writing/keep-versions.ts';
import type { LanceTables } from './lance.ts';
import { mergeFiles } from './merge-files.ts';
import { type SettleTask, settleInChild } from './settle-process.ts';
import { lacksVectorIndex } from './vector-index.ts';

/** Number of rows above which a child process settles a table. Starting it takes a second. */
export const ROWS_IN_PROCESS_MAX = 8_192;

/**
 * Build one index of a large table in a child process, without merging files. Rows appended meanwhile are not in the
 * index. The caller holds the bucket's build lock.
 *
 * @throws AppError `settle_failed`, `index_unavailable`, `storage_full` (503)
 */
export async function buildIndex(
  tables: LanceTables,
  name: string,
  step: 'index_tokens' | 'index_vectors',
  options: SettleOptions = {},
): Promise<void> {
  await runInChild(tables, { ...tables.location, name, step, cleanupOlderThanMs: 0 }, options);
}

/**
 * Merge small fragments and update the indexes. The caller holds the bucket's writer lock. Memory is proportional to
 * the table and LanceDB doesn't return it to the system, so a child process settles large tables.
 *
 * @throws AppError `settle_failed` (503, retryable), which leaves the table usable as before; `index_unavailable`,
 *   `storage_full` (503)
 */
export async function settle(tables: LanceTables, table: Table, options: SettleOptions = {}): Promise<void> {
  await mergeTable(tables, table, options);
  // A second process keeps the memory of the two steps apart.
  await indexVectors(tables, table, options);
}

/**
 * Run the first part of `settle`: everything except building a missing vector index.
 *
 * @throws AppError as `settle` does
 */
export async function mergeTable(tables: LanceTables, table: Table, options: SettleOptions = {}): Promise<void> {
  const cleanupOlderThanMs = Date.now() - KEEP_VERSIONS_MS;
  if ((await table.countRows()) <= ROWS_IN_PROCESS_MAX) {
    await tables.mapErrors(mergeFiles(table, cleanupOlderThanMs));
    return;
  }
  const task = { ...tables.location, name: table.name, cleanupOlderThanMs, step: 'merge' } as const;
  await runInChild(tables, task, options);
  await table.checkoutLatest();
}

/**
 * Build the vector index of a table if it lacks one.
 *
 * @returns true if the index was built
 * @throws AppError as `settle` does
 */
export async function indexVectors(tables: LanceTables, table: Table, options: SettleOptions = {}): Promise<boolean> {
  if (!(await lacksVectorIndex(table))) return false;
  await buildIndex(tables, table.name, 'index_vectors', options);
  await table.checkoutLatest();
  return true;
}

async function runInChild(tables: LanceTables, task: SettleTask, options: SettleOptions): Promise<void> {
  options.signal?.throwIfAborted();
  try {
    await tables.mapErrors(settleInChild(task, options));
  } catch (cause) {
    options.signal?.throwIfAborted();
    if (cause instanceof AppError) throw cause;
    const message = 'the files of an index could not be merged; the service tries again by itself';
    throw new AppError({ code: 'settle_failed', status: 503, message, retryable: true, cause });
  }
}
