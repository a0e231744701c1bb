import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { livenessOf, ownIdentity } from '../../src/platform/embedded-postgres/process-identity.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { type Database, openPostgres } from '../../src/platform/postgres.ts';

const SETTINGS = { fsync: 'off' };
const END_MS_MAX = 30_000;
export const isRoot = process.getuid?.() === 0;

/** Embedded PostgreSQL of one test, in its own directory. */
export interface ClusterUnderTest {
  /** Directory of the test, which other users may traverse. */
  root: string;
  /** Data directory of the server; it doesn't exist at first. A test may set another path below `root`. */
  dataDir: string;
  open(options?: { packageDirectory?: string; settings?: Record<string, string> }): Promise<EmbeddedPostgres>;
  postmasterPid(): Promise<number>;
}

/** Register hooks that give every test of the file a directory, and stop a server that is still running there. */
export function clusterUnderTest(): ClusterUnderTest {
  const cluster: ClusterUnderTest = {
    ...{ root: '', dataDir: '' },
    open: (options = {}) => openEmbeddedPostgres({ dataDir: cluster.dataDir, settings: SETTINGS, ...options }),
    async postmasterPid() {
      const file = path.join(cluster.dataDir, 'postgres/postmaster.pid');
      return Number((await readFile(file, 'utf8')).split('\n')[0]);
    },
  };
  beforeEach(async () => {
    cluster.root = await mkdtemp(path.join(tmpdir(), 'service-test-embedded-'));
    if (isRoot) await chmod(cluster.root, 0o711);
    cluster.dataDir = path.join(cluster.root, 'data');
  });
  afterEach(async () => {
    const pid = await cluster.postmasterPid().catch(() => null);
    if (pid !== null && (await isRunning(pid))) {
      process.kill(pid, 'SIGQUIT');
      await expectGone(pid);
    }
    // The initdb of a killed process may still be writing.
    await rm(cluster.root, { recursive: true, force: true, maxRetries: 20 });
  });
  return cluster;
}

export async function withSql<T>(server: EmbeddedPostgres, use: (sql: Database) => Promise<T>): Promise<T> {
  const sql = openPostgres(server.connection, { poolMax: 1, applicationName: 'test' });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

export async function isRunning(pid: number): Promise<boolean> {
  return (await livenessOf({ ...(await ownIdentity()), pid, startTime: null })) === 'alive';
}

/** Wait until a process is gone. The server removes its pid file shortly before it exits. */
export async function expectGone(pid: number): Promise<void> {
  await expect.poll(() => isRunning(pid), { timeout: END_MS_MAX }).toBe(false);
}

export interface StartedChild {
  readonly child: ChildProcess;
  readonly stderr: () => string;
}

/** Start a script of `test/support`. */
export function startChild(script: string, ...args: (string | number)[]): StartedChild {
  const file = path.join(import.meta.dirname, script);
  const child = fork(file, args.map(String), { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  return { child, stderr: () => stderr };
}

/** Wait for the exit of a child. @returns `ok`, or its signal or exit code with its stderr */
export async function exitOf({ child, stderr }: StartedChild): Promise<string> {
  const hasEnded = child.exitCode !== null || child.signalCode !== null;
  const [code, signal] = hasEnded ? [child.exitCode, child.signalCode] : await once(child, 'exit');
  return code === 0 ? 'ok' : `${signal ?? code} ${stderr()}`.trim();
}
