import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate, migrationStatus } from '../../src/platform/migrate.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let directory: string;

beforeEach(async () => {
  database = await createTestDatabase({ isEmpty: true });
  directory = await mkdtemp(path.join(tmpdir(), 'service-test-migrations-'));
});
afterEach(async () => {
  await database?.drop();
  await rm(directory, { recursive: true, force: true });
});

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(directory, name), text);
}

const FIRST = 'create table a (n int);\ncreate index on a (n);\n';
const SECOND = '-- more\nalter table a add column m int;\ninsert into a values (1, 2);\n';

test('pending migrations are applied in order, once', async () => {
  const { sql } = database;
  await write({ '0001_first.sql': FIRST, 'README.md': 'no migration' });
  expect(await migrate(sql, { directory })).toEqual(['first']);
  await write({ '0002_second.sql': SECOND, '0010_third.sql': 'insert into a values (3, 4);' });
  expect(await migrationStatus(sql, { directory })).toMatchObject([
    { version: 1, name: 'first', applied_at: expect.any(Date) },
    { version: 2, name: 'second', applied_at: null },
    { version: 10, name: 'third', applied_at: null },
  ]);
  expect(await migrate(sql, { directory })).toEqual(['second', 'third']);
  expect(await migrate(sql, { directory })).toEqual([]);
  expect(await sql`select * from a order by n`).toEqual([
    { n: 1, m: 2 },
    { n: 3, m: 4 },
  ]);
});

test('all migrations are pending in a database that was never migrated', async () => {
  await write({ '0001_first.sql': FIRST });
  expect(await migrationStatus(database.sql, { directory })).toEqual([{ version: 1, name: 'first', applied_at: null }]);
});

test('a failing migration is rolled back completely, its error names the line, and earlier ones stay', async () => {
  const { sql } = database;
  await write({
    '0001_first.sql': FIRST,
    '0002_broken.sql': 'create table b (n int);\n\ninsert into nowhere values (1);\n',
  });
  await expect(migrate(sql, { directory })).rejects.toMatchObject({
    code: 'migration_failed',
    message: expect.stringContaining('migration 2 (broken), line 3: relation "nowhere" does not exist'),
  });
  const [row] = await sql`select to_regclass('a') is not null as a, to_regclass('b') is not null as b`;
  expect(row).toEqual({ a: true, b: false });
  await write({ '0002_broken.sql': SECOND });
  expect(await migrate(sql, { directory })).toEqual(['broken']);
});

test('a changed migration is refused; changed line ends are ignored', async () => {
  const { sql } = database;
  await write({ '0001_first.sql': FIRST });
  await migrate(sql, { directory });
  await write({ '0001_first.sql': FIRST.replaceAll('\n', '\r\n') });
  expect(await migrate(sql, { directory })).toEqual([]);
  await write({ '0001_first.sql': `${FIRST}-- one more word` });
  await expect(migrate(sql, { directory })).rejects.toMatchObject({ code: 'migration_changed' });
});

test('a new migration with a number below applied ones is refused', async () => {
  const { sql } = database;
  await write({ '0001_first.sql': FIRST, '0003_third.sql': 'select 1;' });
  await migrate(sql, { directory });
  await write({ '0002_late.sql': 'select 1;' });
  await expect(migrate(sql, { directory })).rejects.toMatchObject({ code: 'migration_out_of_order' });
});

test('older code works with a newer database for as long as that is compatible', async () => {
  const { sql } = database;
  const older = await mkdtemp(path.join(tmpdir(), 'service-test-migrations-'));
  try {
    await writeFile(path.join(older, '0001_first.sql'), FIRST);
    await write({ '0001_first.sql': FIRST, '0002_second.sql': `-- minimum-compatible-version: 1\n${SECOND}` });
    await migrate(sql, { directory });
    expect(await migrate(sql, { directory: older })).toEqual([]);
    expect((await migrationStatus(sql, { directory: older })).map(({ name }) => name)).toEqual(['first', 'second']);

    await write({
      '0003_contract.sql':
        '-- Nobody reads n any more.\n\n-- minimum-compatible-version: 2\nalter table a drop column n;',
    });
    await migrate(sql, { directory });
    await expect(migrate(sql, { directory: older })).rejects.toMatchObject({
      code: 'database_too_new',
      details: { minimum_version: 2, newest_known_version: 1 },
    });
    // A later, lower minimum does not lower the recorded one.
    await write({ '0004_lower.sql': '-- minimum-compatible-version: 1\nselect 1;' });
    await migrate(sql, { directory });
    await expect(migrate(sql, { directory: older })).rejects.toMatchObject({ code: 'database_too_new' });
  } finally {
    await rm(older, { recursive: true });
  }
});

test('a minimum version is read only from the head of the file, and must not be above the own version', async () => {
  const { sql } = database;
  await write({ '0001_first.sql': `${FIRST}-- minimum-compatible-version: 9\n` });
  await migrate(sql, { directory });
  await write({ '0002_second.sql': '-- minimum-compatible-version: 3\nselect 1;' });
  await expect(migrate(sql, { directory })).rejects.toMatchObject({ code: 'migration_invalid' });
});

test.each([
  ['a name of another form', { '1_first.sql': 'select 1;' }],
  ['one number twice', { '0001_a.sql': 'select 1;', '0001_b.sql': 'select 1;' }],
])('a directory of migrations with %s is refused', async (_case, files) => {
  await write(files);
  await expect(migrate(database.sql, { directory })).rejects.toMatchObject({ code: 'migration_invalid' });
});

test('many concurrent processes apply each migration once', async () => {
  const count = 6;
  for (let version = 1; version <= count; version++) {
    const create = version === 1 ? 'create table log (n int);' : '';
    await write({
      [`000${version}_step.sql`]: `${create} insert into log values (${version}); select pg_sleep(0.02);`,
    });
  }
  const pools = Array.from({ length: 8 }, () =>
    openPostgres(database.connection, { poolMax: 2, applicationName: 'migrator' }),
  );
  const applied = await Promise.all(pools.map((sql) => migrate(sql, { directory })));
  await Promise.all(pools.map((sql) => sql.end()));
  expect(applied.flat()).toHaveLength(count);
  expect(await database.sql`select n from log order by n`).toEqual(
    Array.from({ length: count }, (_, i) => ({ n: i + 1 })),
  );
});

test('a migration that waits for a transaction gives its locks back, so that neither of them ends in a deadlock', async () => {
  const { sql } = database;
  await write({ '0001_first.sql': `${FIRST}create table b (n int);` });
  await migrate(sql, { directory });
  await write({ '0002_both.sql': 'alter table a add column m int; alter table b add column m int;' });
  const waits = async () =>
    (
      await sql`select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    )[0]?.['n'];
  let migrating: Promise<string[]> | undefined;
  const rows = await sql.begin(async (tx) => {
    await tx`insert into b values (1)`;
    migrating = migrate(sql, { directory });
    migrating.catch(() => undefined);
    await expect.poll(waits, { timeout: 30_000, interval: 10 }).toBe(1); // it has the lock of a, and waits for that of b
    return tx`select n from a`;
  });
  expect(rows).toEqual([]);
  expect(await migrating).toEqual(['both']);
  expect(await sql`select n, m from b`).toEqual([{ n: 1, m: null }]);
});

test('a process that is killed during a migration leaves only complete migrations', async () => {
  const { sql, url } = database;
  await write({
    '0001_first.sql': FIRST,
    '0002_slow.sql': 'create table slow (n int); select pg_sleep(3600);',
  });
  const child = fork(path.join(import.meta.dirname, '../support/migrate-child.ts'), [url, directory], {
    stdio: 'ignore',
  });
  const isSleeping = async () =>
    (
      await sql`select count(*) as n from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
    )[0]?.['n'];
  await expect.poll(isSleeping, { timeout: 10_000 }).toBe(1);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await write({ '0002_slow.sql': 'create table slow (n int);' });
  expect((await migrationStatus(sql, { directory })).map(({ applied_at }) => applied_at !== null)).toEqual([
    true,
    false,
  ]);
  expect(await migrate(sql, { directory })).toEqual(['slow']);
});

test('the migrations of this project apply, and the template of the tests has them all', async () => {
  const project = path.resolve(import.meta.dirname, '../../migrations');
  const copy = await createTestDatabase();
  const status = await migrationStatus(copy.sql, { directory: project });
  expect(status.length).toBeGreaterThan(0);
  for (const { applied_at } of status) expect(applied_at).toBeInstanceOf(Date);
  expect(await migrate(copy.sql, { directory: project })).toEqual([]);
  await copy.drop();
});
