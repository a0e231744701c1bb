import { createHash } from 'node:crypto';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

/** Time to wait for a lock of another process, in milliseconds. */
const BUSY_MS = 5_000;

/** Statement on one file, which runs on a thread, because the calls of SQLite block. */
export interface SqliteCall {
  readonly file: string;
  readonly sql: string;
  readonly values: readonly string[];
}

/** Run one statement on a file that is opened for reading only. @returns its rows */
export async function runSqlite({ file, sql, values }: SqliteCall): Promise<Record<string, unknown>[]> {
  const { DatabaseSync: Database } = await import('node:sqlite');
  const database: DatabaseSync = new Database(file, { readOnly: true, timeout: BUSY_MS });
  try {
    database.function('sha256', { deterministic: true }, (text) =>
      text === null
        ? '-'
        : createHash('sha256')
            .update(text as string | Uint8Array)
            .digest('hex'),
    );
    return database.prepare(sql).all(...(values as SQLInputValue[])) as Record<string, unknown>[];
  } finally {
    database.close();
  }
}
