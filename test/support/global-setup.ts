import { existsSync, statfsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { findServers, type TestServers } from './find-servers.ts';

/** Connection to the server of this run. The password is in plain text, since test workers receive it as JSON. */
export interface TestPostgres {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  /** Database with every migration of `migrations/`. Tests connect only to copies of it. */
  readonly template: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    postgres: TestPostgres;
    servers: TestServers;
  }
}

const TEMPLATE = 'service_template';
const DIRECTORY = /^service-test-postgres-(\d+)$/;
/** Settings without durability, since the data need not survive a crash of the machine. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };
/** Memory that a run may use for its databases. Docker's default of /dev/shm, 64 MB, is too small. */
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;
/**
 * File system in memory, which holds the data if it has room: each test file copies a database of a thousand files. On
 * disk, this takes most of the time to open an appliance.
 */
const MEMORY = '/dev/shm';
const migrations = path.resolve(import.meta.dirname, '../../migrations');

/** Start one PostgreSQL for the whole run in its own directory. @returns a function that stops and removes it */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = findServers();
  reportMissing(servers);
  project.provide('servers', servers);
  for (const folder of [MEMORY, tmpdir()]) await removeLeftovers(folder);
  const dataDir = path.join(hasRoom(MEMORY) ? MEMORY : tmpdir(), `service-test-postgres-${process.pid}`);
  const server = await openEmbeddedPostgres({ dataDir, settings: SETTINGS });
  const teardown = async () => {
    await server.release();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await createTemplate(server);
  } catch (error) {
    await teardown();
    throw error;
  }
  const { host, port, database, username, password } = server.connection;
  project.provide('postgres', { host, port, database, username, password: password.reveal(), template: TEMPLATE });
  return teardown;
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= MEMORY_BYTES_MIN;
}

/** Print a line for each missing server whose tests are skipped. */
function reportMissing({ redis, s3, pgbouncer, dovecot, wsgidav, haproxy, milvus, pebble }: TestServers): void {
  if (!redis) process.stderr.write('There is no redis-server on this machine: tests that need Redis are skipped.\n');
  if (!pgbouncer) process.stderr.write('There is no pgbouncer on this machine: its tests are skipped.\n');
  if (!dovecot) process.stderr.write('There is no dovecot on this machine: tests of mailboxes are skipped.\n');
  if (!pebble) process.stderr.write('There is no pebble on this machine: tests of ACME are skipped.\n');
  if (!wsgidav) process.stderr.write('There is no wsgidav on this machine: tests of WebDAV are skipped.\n');
  if (!haproxy) process.stderr.write('There is no haproxy on this machine: moves are tested without a proxy.\n');
  if (!milvus) process.stderr.write('There is no milvus-lite on this machine: tests of Milvus are skipped.\n');
  if (!s3) process.stderr.write('There is no ministack on this machine: tests that need an S3 server are skipped.\n');
}

async function createTemplate(server: EmbeddedPostgres): Promise<void> {
  const admin = openPostgres(server.connection, { poolMax: 1, applicationName: 'test-setup' });
  await admin`create database ${admin(TEMPLATE)}`;
  await admin.end();
  const target = { ...server.connection, database: TEMPLATE };
  const sql = openPostgres(target, { poolMax: 1, applicationName: 'test-setup' });
  try {
    if (existsSync(migrations)) await migrate(sql, { directory: migrations });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Stop the servers of killed runs, by opening and releasing each as its last user, and remove their data. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(DIRECTORY.exec(name)?.[1] ?? process.pid);
    if (isRunning(pid)) continue;
    const dataDir = path.join(folder, name);
    try {
      await (await openEmbeddedPostgres({ dataDir, settings: SETTINGS })).release();
      await rm(dataDir, { recursive: true, force: true });
    } catch {
      // The server belongs to another user, or another run is already removing it.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
