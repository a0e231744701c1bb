import { chmod, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clusterUnderTest, expectGone, isRoot, isRunning, withSql } from '../support/embedded-cluster.ts';

const cluster = clusterUnderTest();

test('an embedded server creates its cluster once, is shared, keeps its data, and stops with the last release', async () => {
  const first = await cluster.open();
  const second = await cluster.open();
  const pid = await cluster.postmasterPid();
  expect(second.connection).toMatchObject({ host: first.connection.host, username: 'service' });
  await withSql(first, (sql) => sql`create table kept as select 'ok' as word`);
  await first.release();
  await first.release();
  expect(await isRunning(pid)).toBe(true);
  await withSql(second, (sql) => sql`select 1`);
  await second.release();
  await expectGone(pid);
  expect(await readdir(path.join(cluster.dataDir, 'postgres.users'))).toEqual([]);

  const again = await cluster.open();
  expect(await withSql(again, (sql) => sql`select word from kept`)).toEqual([{ word: 'ok' }]);
  await again.release();
  expect((await readdir(cluster.dataDir)).filter((name) => /lock|new-/.test(name))).toEqual([]);
});

test('a data directory that was moved while the server was stopped works at its new place', async () => {
  const before = await cluster.open();
  await withSql(before, (sql) => sql`create table kept as select 'ok' as word`);
  await before.release();
  const moved = path.join(cluster.root, 'moved');
  await rename(cluster.dataDir, moved);
  cluster.dataDir = moved;
  const after = await cluster.open();
  expect(await withSql(after, (sql) => sql`select word from kept`)).toEqual([{ word: 'ok' }]);
  await after.release();
});

test('an embedded cluster is UTF-8 with a fixed order, is durable by default, and has only a private socket', async () => {
  const server = await cluster.open({ settings: {} });
  const [row] = await withSql(
    server,
    (sql) => sql`
      select datlocprovider as provider, datlocale as locale, pg_encoding_to_char(encoding) as encoding,
             current_setting('fsync') as fsync, current_setting('data_checksums') as checksums,
             current_setting('listen_addresses') as addresses, upper('straße ω') as upper
      from pg_database where datname = current_database()`,
  );
  expect(row).toEqual({
    provider: 'b',
    locale: 'C.UTF-8',
    encoding: 'UTF8',
    fsync: 'on',
    checksums: 'on',
    addresses: '',
    upper: 'STRASSE Ω'.replace('SS', 'ß'), // simple case mapping
  });
  const mode = async (name: string) => ((await stat(path.join(cluster.dataDir, name))).mode & 0o777).toString(8);
  expect(await mode('postgres.password')).toBe('600');
  expect(await mode('postgres')).toBe('700');
  expect((await stat(server.connection.host)).mode & 0o777).toBe(0o700);
  await server.release();
});

test('the postgres.conf of the operator is read last, and the log contains neither statements nor rows', async () => {
  await mkdir(cluster.dataDir, { mode: 0o711 });
  await writeFile(path.join(cluster.dataDir, 'postgres.conf'), "work_mem = '5MB'\n");
  const server = await cluster.open();
  await withSql(server, async (sql) => {
    expect(await sql`show work_mem`).toEqual([{ work_mem: '5MB' }]);
    await sql`create table t (secret text primary key)`;
    await sql`insert into t values ('canary-7431')`;
    await expect(sql`insert into t values ('canary-7431')`).rejects.toBeDefined();
  });
  await server.release();
  const log = await readFile(path.join(cluster.dataDir, 'postgres.log'), 'utf8');
  expect(log).toContain('database system is ready');
  expect(log).not.toContain('canary-7431');
});

test('the error on a platform without PostgreSQL binaries asks for an own database', async () => {
  const arch = Object.getOwnPropertyDescriptor(process, 'arch') ?? {};
  Object.defineProperty(process, 'arch', { ...arch, value: 'mips' });
  onTestFinished(() => void Object.defineProperty(process, 'arch', arch));
  await expect(cluster.open()).rejects.toMatchObject({
    code: 'postgres_unsupported_platform',
    message: expect.stringContaining('DATABASE_URL'),
  });
});

test('binaries that do not run are another error than a platform without any', async () => {
  await expect(cluster.open({ packageDirectory: path.join(cluster.root, 'nothing') })).rejects.toMatchObject({
    code: 'postgres_binaries_unusable',
  });
});

test.runIf(isRoot)(
  'under root the server runs as another user, who may traverse the data directory but not read it',
  async () => {
    await mkdir(cluster.dataDir, { mode: 0o700 });
    const server = await cluster.open();
    const { uid } = await stat(path.join(cluster.dataDir, 'postgres'));
    expect(uid).not.toBe(0);
    expect(await readFile(`/proc/${await cluster.postmasterPid()}/status`, 'utf8')).toMatch(
      new RegExp(`^Uid:\\s+${uid}\\s`, 'm'),
    );
    expect((await stat(cluster.dataDir)).mode & 0o777).toBe(0o710);
    await server.release();
  },
);

test.runIf(isRoot)(
  'under root a data directory in a closed folder is refused with an error that says what to do',
  async () => {
    await chmod(cluster.root, 0o700);
    await expect(cluster.open()).rejects.toMatchObject({
      code: 'data_directory_unreachable',
      message: expect.stringContaining('DATABASE_URL'),
    });
  },
);
