import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { type Database, openPostgres, type PostgresConnection, postgresUrl } from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';

export interface TestDatabase {
  readonly sql: Database;
  /** Value of `DATABASE_URL` for a child process. */
  readonly url: string;
  readonly connection: PostgresConnection;
  /** Close `sql`, end every other connection and drop the database. */
  drop(): Promise<void>;
}

/**
 * Create a database in the PostgreSQL of the run, with all migrations applied (a copy of the template, about 20 ms), or
 * empty if `isEmpty` is set.
 */
export async function createTestDatabase(options: { isEmpty?: boolean; poolMax?: number } = {}): Promise<TestDatabase> {
  const { template, password, ...server } = inject('postgres');
  const admin: PostgresConnection = { ...server, password: new Secret(password) };
  const connection: PostgresConnection = { ...admin, database: `test_${randomBytes(6).toString('hex')}` };
  await runAsAdmin(admin, (sql) =>
    options.isEmpty
      ? sql`create database ${sql(connection.database)}`
      : sql`create database ${sql(connection.database)} template ${sql(template)}`,
  );
  const sql = openPostgres(connection, { poolMax: options.poolMax ?? 5, applicationName: 'test' });
  return {
    sql,
    url: postgresUrl(connection),
    connection,
    drop: async () => {
      await sql.end({ timeout: 1 });
      await runAsAdmin(admin, (sql) => sql`drop database if exists ${sql(connection.database)} with (force)`);
    },
  };
}

async function runAsAdmin(admin: PostgresConnection, query: (sql: Database) => Promise<unknown>): Promise<void> {
  const sql = openPostgres(admin, { poolMax: 1, applicationName: 'test-admin' });
  try {
    await query(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
