import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openPostgres, postgresUrl } from '../../src/platform/postgres.ts';
import { Network } from '../cluster/network.ts';
import { pgBouncerAvailable, startPgBouncer, type TestPgBouncer } from '../support/pgbouncer.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const CLIENTS = 4;
const ROUNDS = 20;

describe.skipIf(!pgBouncerAvailable())('PgBouncer in transaction mode with one connection', () => {
  let database: TestDatabase;
  let bouncer: TestPgBouncer;
  const network = new Network();
  const opened: Database[] = [];
  beforeAll(async () => {
    database = await createTestDatabase({ isEmpty: true });
    const { connection } = database;
    const { host, port, username, password } = connection;
    const server = await network.expose(
      'postgres',
      host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { port },
    );
    bouncer = await startPgBouncer({ port: server, username, password: password.reveal() }, { poolSize: 1 });
  });
  afterAll(async () => {
    for (const sql of opened) await sql.end({ timeout: 1 });
    await bouncer?.drop();
    await network.close();
    await database?.drop();
  });

  it('clients that share one connection prepare no statement on it, so that none meets that of another', async () => {
    const url = postgresUrl({ ...database.connection, host: '127.0.0.1', port: bouncer.port });
    const options = { poolMax: 2, applicationName: 'pooled' };
    for (let nth = 0; nth < CLIENTS; nth++) opened.push(openPostgres({ url, isPooled: true }, options));
    for (let round = 0; round < ROUNDS; round++) {
      const rows = await Promise.all(
        opened.map((sql, nth) =>
          round % 2 === 0
            ? sql`SELECT ${nth}::int AS nth, ${['a', 'b']}::text[] AS names`
            : sql.begin(async (tx) => {
                await tx`SELECT ${`of ${nth}`}::text AS own`;
                return tx`SELECT ${nth}::int AS nth, ${['a', 'b']}::text[] AS names`;
              }),
        ),
      );
      expect(rows.map(([row]) => row)).toEqual(opened.map((_, nth) => ({ nth, names: ['a', 'b'] })));
    }
    const [sql] = opened as [Database];
    expect(await sql`SELECT statement FROM pg_prepared_statements WHERE name <> ''`).toEqual([]);
  });
});
