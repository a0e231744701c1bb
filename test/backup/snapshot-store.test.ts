import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyTable, SNAPSHOT } from '../../src/backup/snapshot-store.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const ROW_CHARS = 1_000;
const ROWS_MAX = 300;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true, poolMax: 1 });
  await database.sql`CREATE TABLE copied (number int, text text)`;
});

afterAll(() => database.drop());

// The rows of some of these tables arrive while the buffer of the stream is full.
test('a connection is usable after a table whose last rows waited for a slow reader', async () => {
  const { sql } = database;
  for (let rows = 5; rows <= ROWS_MAX; rows += 5) {
    await sql`INSERT INTO copied SELECT n, repeat('x', ${ROW_CHARS}::int) FROM generate_series(${rows - 4}::int, ${rows}::int) n`;
    const copied = await sql.begin(SNAPSHOT, async (tx) => {
      const bytes = await copyTable(tx, 'copied', ['text'], async (stream) => {
        let total = 0;
        for (let turn = 0; turn < 400; turn++) await nextTurn();
        for await (const block of stream as AsyncIterable<Buffer>) total += block.length;
        return total;
      });
      const [row] = await tx`SELECT count(*)::int AS n FROM copied`;
      return { bytes, rows: row?.['n'] };
    });
    expect(copied).toEqual({ bytes: rows * (ROW_CHARS + 1), rows });
  }
});
