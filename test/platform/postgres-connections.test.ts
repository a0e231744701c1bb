import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { mapPostgresError, openPostgres, withAdvisoryLock } from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';
import { waitingBackends } from '../support/waiting-backends.ts';
import { backendPid, rejection, watchedDatabase } from '../support/watched-database.ts';

const watched = watchedDatabase();

test('a connection URI opens the same database as its parts, over the unix socket', async () => {
  const sql = openPostgres({ url: new Secret(watched.database.url) }, { poolMax: 1, applicationName: 'by-uri' });
  const [row] = await sql`select current_database() as db, current_setting('application_name') as app`;
  expect(row).toEqual({ db: watched.database.connection.database, app: 'by-uri' });
  await sql.end();
});

test('a connection URI may consist of libpq parameters; those for the server are sent to it', async () => {
  const { host, port, username, password, database: dbname } = watched.database.connection;
  const named = new URLSearchParams({
    host,
    port: String(port),
    user: username,
    password: password.reveal(),
    dbname,
  });
  const others = 'channel_binding=prefer&gssencmode=disable&sslmode=disable&statement_timeout=1234';
  const sql = openPostgres({ url: `postgresql:///?${named}&${others}` }, { poolMax: 1, applicationName: 'by-name' });
  const [row] = await sql`select current_database() as db, current_setting('statement_timeout') as timeout`;
  expect(row).toEqual({ db: dbname, timeout: '1234ms' });
  await sql.end();
});

test('a pool opens no more connections than its maximum', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 3, applicationName: 'bounded' });
  await Promise.all(Array.from({ length: 30 }, () => sql`select pg_sleep(0.005)`));
  const [row] = await watched.admin`select count(*) as n from pg_stat_activity where application_name = 'bounded'`;
  expect(row?.['n']).toBe(3);
  await sql.end();
});

test('a pool takes the connection that was used last, and opens another one only where that is in use', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 5, applicationName: 'last-used' });
  const inUse = Array.from({ length: 3 }, () =>
    sql.begin(async (tx) => {
      await tx`SELECT pg_sleep(0.5)`;
      return backendPid(tx);
    }),
  );
  const pids = await Promise.all(inUse);
  expect(new Set(pids).size).toBe(3);
  const next: number[] = [];
  for (let nth = 0; nth < 10; nth++) next.push(await backendPid(sql), await sql.begin(backendPid));
  expect(new Set(next).size).toBe(1);
  expect(pids).toContain(next[0]);
  await sql.end({ timeout: 1 });
});

test('queries that are cancelled while their connection opens, or while they wait for one, do not take it from later ones', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 1, applicationName: 'cancelled-early' });
  const client = new AbortController();
  const limited = sql.limited({ ms: 60_000, signal: client.signal });
  const attempts = Array.from({ length: 3 }, () => rejection(limited`select 1`));
  await new Promise(setImmediate); // The first one opens the connection, the others wait.
  client.abort(new Error('the client is gone'));
  expect(await Promise.all(attempts)).toMatchObject([1, 2, 3].map(() => ({ message: 'the client is gone' })));
  expect(await sql`select 2 as two`).toEqual([{ two: 2 }]);
  expect(sql.pending()).toBe(0);
  await sql.end();
});

test('the end of a pool waits for its queries, those that have no connection yet included, and refuses others', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 1, applicationName: 'ending' });
  const queries = [1, 2, 3].map((n) => sql`select ${n}::int as n, pg_sleep(0.01) is null as slept`);
  const all = Promise.all(queries);
  await new Promise(setImmediate);
  const ended = sql.end();
  expect(mapPostgresError(await rejection(sql`select 4`))).toMatchObject({ code: 'postgres_unavailable' });
  expect((await all).flat().map(({ n }) => n)).toEqual([1, 2, 3]);
  await ended;
  const cut = openPostgres(watched.database.connection, { poolMax: 1, applicationName: 'cut-off' });
  const long = [1, 2].map(() => rejection(cut`select pg_sleep(60)`));
  await new Promise(setImmediate);
  await cut.end({ timeout: 0 });
  for (const error of await Promise.all(long))
    expect(mapPostgresError(error)).toMatchObject({ code: 'postgres_unavailable' });
});

test('a database that is not reachable is a typed error', async () => {
  const sql = openPostgres(
    { ...watched.database.connection, host: '/nonexistent' },
    { poolMax: 1, applicationName: 'x' },
  );
  const error = mapPostgresError(await rejection(sql`select 1`));
  expect(error).toMatchObject({ code: 'postgres_unavailable', status: 503, retryable: true });
  await sql.end({ timeout: 0 });
});

test('an address that accepts and closes connections is a typed error, until a database is behind it', async () => {
  let connections = 0;
  let behind: Socket | null = null;
  const proxy = createServer((client) => {
    connections++;
    client.on('error', () => undefined);
    if (behind === null) return client.resume().end();
    const { host, port } = watched.database.connection;
    behind = connect(`${host}/.s.PGSQL.${port}`);
    behind.on('error', () => undefined).on('close', () => client.destroy());
    client.on('close', () => behind?.destroy());
    client.pipe(behind).pipe(client);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo;
  const at = { ...watched.database.connection, host: '127.0.0.1', port };
  const sql = openPostgres(at, { poolMax: 2, applicationName: 'x' });
  const attempts = [sql`select 1`, sql.begin((tx) => tx`select 1`), sql`select 1`, sql`select 1`];
  const errors = await Promise.all(attempts.map(rejection));
  errors.push(await rejection(withAdvisoryLock(sql, 'unreachable', async () => 1)));
  for (const error of errors) expect(mapPostgresError(error)).toMatchObject({ code: 'postgres_unavailable' });
  expect(connections).toBeLessThanOrEqual(errors.length);
  behind = new Socket();
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  const abort = new AbortController();
  await withAdvisoryLock(sql, 'cancelled', async () => {
    const waiting = rejection(withAdvisoryLock(sql, 'cancelled', async () => 1, { signal: abort.signal }));
    await expect.poll(async () => (await waitingBackends(watched.admin)).length).toBe(1);
    abort.abort(new Error('enough'));
    expect(await waiting).toMatchObject({ message: 'enough' });
  });
  await sql.end({ timeout: 1 });
  await new Promise((resolve) => proxy.close(resolve));
});

test('a wrong password of the database is another error than an outage', async () => {
  const sql = openPostgres(
    { ...watched.database.connection, password: new Secret('wrong') },
    { poolMax: 1, applicationName: 'x' },
  );
  const error = mapPostgresError(await rejection(sql`select 1`));
  expect(error).toMatchObject({ code: 'postgres_refused', retryable: false });
  expect(JSON.stringify(error)).not.toContain('wrong');
  await sql.end({ timeout: 0 });
});

test('a transaction whose connection is lost during a statement fails with a typed error', async () => {
  const { sql } = watched.database;
  const started = Promise.withResolvers<number>();
  const transaction = rejection(
    sql.begin(async (tx) => {
      started.resolve(await backendPid(tx));
      await tx`select pg_sleep(60)`;
    }),
  );
  await watched.admin`select pg_terminate_backend(${await started.promise})`;
  expect(mapPostgresError(await transaction)).toMatchObject({ code: 'postgres_unavailable' });
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
});

test('a transaction whose connection is lost while it is idle runs no more statements, in whatever way it ends', async () => {
  const { sql } = watched.database;
  const outcomes: unknown[] = [];
  for (const [id, ending] of (['throws', 'returns', 'goes on', 'goes on nested'] as const).entries()) {
    const started = Promise.withResolvers<number>();
    const killed = Promise.withResolvers<void>();
    const over = Promise.withResolvers<unknown>();
    const transaction = rejection(
      sql.begin(async (tx) => {
        started.resolve(await backendPid(tx));
        await killed.promise;
        try {
          if (ending === 'throws') throw new Error('of its own');
          if (ending === 'goes on') await tx`insert into things (id) values (${200 + id})`;
          if (ending === 'goes on nested')
            await tx.begin((nested) => nested`insert into things (id) values (${200 + id})`);
          over.resolve(ending);
        } catch (error) {
          over.resolve(error);
          throw error;
        }
      }),
    );
    await watched.admin`select pg_terminate_backend(${await started.promise}, 5000)`;
    outcomes.push(mapPostgresError(await transaction));
    // Other work makes the pool busy, so that it replaces the lost connection if it needs to.
    const others = Promise.all(Array.from({ length: 10 }, () => sql.begin((tx) => tx`select pg_sleep(0.01)`)));
    killed.resolve();
    const outcome = await over.promise;
    if (ending.startsWith('goes on')) expect(outcome).toMatchObject({ code: 'postgres_unavailable' });
    await others;
  }
  expect(outcomes).toMatchObject(Array.from({ length: 4 }, () => ({ code: 'postgres_unavailable' })));
  expect(await sql`select id from things where id between 200 and 210`).toEqual([]);
});

test('the pool works again at once after all its connections were killed under load', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 5, applicationName: 'victim' });
  const abort = new AbortController();
  const faults: unknown[] = [];
  let done = 0;
  const load = Array.from({ length: 20 }, async () => {
    while (!abort.signal.aborted) {
      try {
        await sql`select pg_sleep(0.001)`;
        await sql.begin((tx) => tx`select pg_sleep(0.001)`);
        done++;
      } catch (error) {
        faults.push(mapPostgresError(error)); // and tries again at once
      }
    }
  });
  for (let round = 0; round < 20; round++) {
    await watched.admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`;
    const before = done;
    await expect.poll(() => done, { timeout: 30_000, interval: 5 }).toBeGreaterThan(before + 20);
  }
  abort.abort();
  await Promise.all(load);
  expect(faults.length).toBeGreaterThan(0);
  for (const fault of faults) expect(fault).toMatchObject({ code: 'postgres_unavailable' });
  await sql.end({ timeout: 5 });
});

test('a transaction reads all columns of a table also after a migration has added one', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 1, applicationName: 'running-release' });
  await sql`create table grown (id int)`;
  const all = sql`grown.*`;
  const insert = (id: number) =>
    sql.begin(async (tx) => {
      const [row] = await tx`insert into grown (id) values (${id}) returning *`;
      const [fragment] = await tx`select ${all} from grown where id = ${id}`;
      return [row, fragment];
    });
  expect(await insert(1)).toEqual([{ id: 1 }, { id: 1 }]);
  await watched.admin`alter table grown add column name text`;
  const both = { id: 2, name: null };
  expect(await insert(2)).toEqual([both, both]);
  await sql.end({ timeout: 1 });
});
