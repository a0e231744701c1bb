import { createHash } from 'node:crypto';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

/** Maximum wait for another process's lock. */
const BUSY_MS = 5_000;

/** Statement on a file, run on a thread since SQLite calls block. */
export interface SqliteCall {
  readonly file: string;
  readonly sql: string;
  readonly values: readonly string[];
}

/** Run one statement on a file opened read-only. @returns its rows */
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
