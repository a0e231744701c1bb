import { afterAll, beforeAll, expect } from 'vitest';
import { openPostgres, type Sql } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from './postgres.ts';

/**
 * Database of one test file with a table `things`, and a second pool that can list and end connections of the first.
 */
export interface WatchedDatabase {
  readonly database: TestDatabase;
  readonly admin: TestDatabase['sql'];
}

/** Register the hooks that open and drop the database. */
export function watchedDatabase(): WatchedDatabase {
  const watched = {} as { -readonly [K in keyof WatchedDatabase]: WatchedDatabase[K] };
  beforeAll(async () => {
    watched.database = await createTestDatabase({ isEmpty: true });
    watched.admin = openPostgres(watched.database.connection, { poolMax: 2, applicationName: 'admin' });
    await watched.admin`
      create table things (id bigint primary key, name text constraint things_name unique, body jsonb, at timestamptz)`;
  });
  afterAll(async () => {
    await watched.admin?.end({ timeout: 1 });
    await watched.database?.drop();
  });
  return watched;
}

export async function backendPid(sql: Sql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return row?.pid ?? 0;
}

/** Return the reason of a promise that must be rejected. */
export function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('it should have been rejected'),
    (error: unknown) => error,
  );
}
