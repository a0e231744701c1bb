import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  clusterUnderTest,
  exitOf,
  expectGone,
  isRoot,
  isRunning,
  startChild,
  withSql,
} from '../support/embedded-cluster.ts';

const cluster = clusterUnderTest();

test('an embedded server outlives its killed starter, is taken over, and is stopped in the end', async () => {
  const starter = startChild('embedded-postgres-child.ts', cluster.dataDir, 1, 3_600_000);
  await once(starter.child, 'message');
  const pid = await cluster.postmasterPid();
  starter.child.kill('SIGKILL');
  await exitOf(starter);
  const server = await cluster.open();
  expect(await cluster.postmasterPid()).toBe(pid);
  expect(await withSql(server, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await server.release();
  await expectGone(pid);
});

test('an embedded server ends by itself after the only process that used it was killed', async () => {
  const starter = startChild('embedded-postgres-child.ts', cluster.dataDir, 1, 3_600_000);
  await once(starter.child, 'message');
  const pid = await cluster.postmasterPid();
  starter.child.kill('SIGKILL');
  await exitOf(starter);
  await expect.poll(() => isRunning(pid), { timeout: 120_000, interval: 250 }).toBe(false);
  // It was stopped in order, so that the next start needs no recovery.
  expect(await readdir(path.join(cluster.dataDir, 'postgres'))).not.toContain('postmaster.pid');
});

test('an embedded server that its last user keeps is used again, and ends by itself', async () => {
  const first = await cluster.open();
  const pid = await cluster.postmasterPid();
  await first.release({ isKept: true });
  expect(await isRunning(pid)).toBe(true);
  const second = await cluster.open();
  expect(await cluster.postmasterPid()).toBe(pid);
  expect(await withSql(second, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await second.release({ isKept: true });
  await expect.poll(() => isRunning(pid), { timeout: 120_000, interval: 250 }).toBe(false);
  expect(await readdir(path.join(cluster.dataDir, 'postgres'))).not.toContain('postmaster.pid');
});

test('a stale pid file does not prevent the server from starting, even if its pid belongs to another process now', async () => {
  const server = await cluster.open();
  await server.release();
  const pidFile = path.join(cluster.dataDir, 'postgres/postmaster.pid');
  const owner = await stat(path.join(cluster.dataDir, 'postgres'));
  const bystander = spawn('sleep', ['600'], isRoot ? { uid: owner.uid, gid: owner.gid } : {});
  onTestFinished(() => void bystander.kill('SIGKILL'));
  await once(bystander, 'spawn');
  for (const pid of [bystander.pid, 2 ** 22 - 1]) {
    await writeFile(
      pidFile,
      `${pid}\n${cluster.dataDir}/postgres\n1700000000\n5432\n${server.connection.host}\n\n  1 2\nready   \n`,
    );
    const again = await cluster.open();
    expect(await withSql(again, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await again.release();
  }
  expect(await isRunning(bystander.pid ?? 0)).toBe(true);
});

test('a cluster of another major version of PostgreSQL is not changed, and the error says what to do', async () => {
  await (await cluster.open()).release();
  await writeFile(path.join(cluster.dataDir, 'postgres/PG_VERSION'), '17\n');
  await expect(cluster.open()).rejects.toMatchObject({
    code: 'postgres_version_mismatch',
    message: expect.stringContaining('PostgreSQL 17'),
  });
  expect(await readdir(path.join(cluster.dataDir, 'postgres.users'))).toEqual([]);
});

test('the error of an embedded server that cannot start contains the reason', async () => {
  await expect(cluster.open({ settings: { shared_buffers: '1kB' } })).rejects.toMatchObject({
    code: 'postgres_start_failed',
    message: expect.stringContaining('shared_buffers'),
  });
  await (await cluster.open()).release();
});

test('a lost password file is a separate error, and no server is left running', async () => {
  await (await cluster.open()).release();
  await unlink(path.join(cluster.dataDir, 'postgres.password'));
  await expect(cluster.open()).rejects.toMatchObject({ code: 'postgres_password_unreadable' });
  await expect(stat(path.join(cluster.dataDir, 'postgres/postmaster.pid'))).rejects.toMatchObject({ code: 'ENOENT' });
});
