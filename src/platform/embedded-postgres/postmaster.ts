import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { open, readFile, rename, rmdir, stat, unlink } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type AppError, tryLater, unusable } from '../errors.ts';
import { isPidInUse } from '../pid-in-use.ts';
import type { PostgresBinaries } from './binaries.ts';
import { ensureSocketDirectory, writeSettings } from './cluster.ts';
import { canTraverse, type DataDirectory } from './data-directory.ts';
import { run, type ServerUser, serverProcessOptions } from './run.ts';

const PORT = 5432; // only names the socket file
const SOCKET_PATH_BYTES_MAX = 100; // 103 on macOS, 107 on Linux
const LOG_BYTES_MAX = 10 * 1024 * 1024;
const READY_POLL_MS = 3;
const READY_MS = 300_000; // recovery after a crash may take minutes
const STOP_MS = 60_000;
const START_ATTEMPTS = 5;
const START_RETRY_MS = 500;

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly socketDirectory: string;
  readonly status: string;
  /** True if it runs in our pid namespace, so that its pid is valid here. */
  readonly isLocal: boolean;
}

/**
 * Find the server that runs on this cluster, or null. `postmaster.pid` alone is not enough. The file remains after a
 * server was killed. Its pid may belong to another process now or, if containers share the directory, to another pid
 * namespace. A local process counts if it was started on this cluster or works in its directory. Any other process
 * counts if its socket accepts a connection.
 */
export async function findPostmaster(data: DataDirectory): Promise<Postmaster | null> {
  const text = await readFile(path.join(data.cluster, 'postmaster.pid'), 'utf8').catch(() => null);
  if (text === null) return null;
  // pid, data directory, start time, port, socket directory, first listen address, shared memory key, status
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  const port = Number(lines[3] || PORT);
  const socketDirectory = lines[4] ?? '';
  const status = lines[7] ?? 'starting';
  if (!Number.isInteger(pid) || pid <= 0) return null;
  const isLocal = await isServerProcess(pid, data.cluster);
  if (!isLocal && !(await answers(socketPath(socketDirectory, port)))) return null;
  return { pid, port, socketDirectory, status, isLocal };
}

async function isServerProcess(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === 'linux') {
    // Every user may read the arguments; the working directory may be closed even to root in an ordinary container.
    const [program = '', ...args] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (path.basename(program) === 'postgres' && args.includes(cluster)) return true;
    try {
      const [actual, expected] = await Promise.all([stat(`/proc/${pid}/cwd/.`), stat(cluster)]);
      return actual.dev === expected.dev && actual.ino === expected.ino;
    } catch {
      return false; // the process has ended, is a zombie, or belongs to another user
    }
  }
  const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]);
  return stdout.includes('postgres') && stdout.includes(cluster);
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = net.connect({ path: socket });
    connection.setTimeout(2_000, () => connection.destroy(new Error('timeout')));
    connection.once('connect', () => resolve(true));
    connection.once('connect', () => connection.destroy());
    connection.once('error', () => resolve(false));
  });
}

function socketPath(directory: string, port: number): string {
  return path.join(directory, `.s.PGSQL.${port}`);
}

/** Wait until the server accepts connections. Return null if it exits instead. */
export async function waitUntilReady(data: DataDirectory): Promise<Postmaster | null> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    const postmaster = await findPostmaster(data);
    if (postmaster === null || postmaster.status === 'ready') return postmaster;
    if (performance.now() > deadline) throw startFailed(data, 'it did not become ready in time', '');
    await delay(READY_POLL_MS);
  }
}

/**
 * Start the server detached, in its own session, so that it outlives this process and gets no signals from its
 * terminal. Call this under the lock of the data directory, while no server runs. Try a few times, since workers of a
 * killed server may still hold its memory.
 *
 * Don't use `pg_ctl start`: it runs a shell without quoting special characters in the path, checks the outcome only
 * every 100 ms, and doesn't report how the server exited.
 * @throws AppError `postgres_start_failed`
 */
export async function startPostmaster(
  data: DataDirectory,
  binaries: PostgresBinaries,
  user: ServerUser | null,
  settings: Readonly<Record<string, string>>,
): Promise<Postmaster> {
  const socketDirectory = await chooseSocketDirectory(data, user);
  await writeSettings(data, user, socketDirectory, settings);
  await rotateLog(data);
  for (let attempt = 1; ; attempt++) {
    await removeMisleadingPidFile(data);
    const postmaster = await startOnce(data, binaries, user);
    if (typeof postmaster !== 'string') return postmaster;
    if (attempt === START_ATTEMPTS) throw startFailed(data, postmaster, await tailOfLog(data));
    await delay(START_RETRY_MS);
  }
}

/**
 * Remove a `postmaster.pid` whose pid another process now has. PostgreSQL removes a stale file itself, but refuses to
 * start if another process has its pid, which is common after a container restart. The caller knows that no server
 * runs.
 */
async function removeMisleadingPidFile(data: DataDirectory): Promise<void> {
  const file = path.join(data.cluster, 'postmaster.pid');
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 0 && isPidInUse(pid)) await unlink(file);
}

/** Try to start the server once. Return it when it accepts connections, or the reason for the failure. */
async function startOnce(
  data: DataDirectory,
  binaries: PostgresBinaries,
  user: ServerUser | null,
): Promise<Postmaster | string> {
  const log = await open(data.logFile, 'a', 0o600);
  await data.own(data.logFile);
  let ended: string | null = null;
  try {
    const child = spawn(binaries.postgres, ['-D', data.cluster], {
      ...serverProcessOptions(user),
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    child.unref();
    child.once('error', (error) => {
      ended = error.message;
    });
    child.once('exit', (status, signal) => {
      ended = `it ended with ${signal ?? `status ${status}`}`;
    });
  } catch (error) {
    return (error as Error).message; // some failures to start are thrown, others are `error` events
  } finally {
    await log.close();
  }
  const deadline = performance.now() + READY_MS;
  for (;;) {
    const hasEnded = ended;
    const postmaster = await findPostmaster(data);
    if (postmaster?.status === 'ready') return postmaster;
    if (hasEnded !== null) return hasEnded;
    if (performance.now() > deadline) return 'it did not become ready in time';
    await delay(READY_POLL_MS);
  }
}

/**
 * Stop the server in mode `fast`, which rolls back open transactions. Call this under the lock of the data directory.
 */
export async function stopPostmaster(
  data: DataDirectory,
  binaries: PostgresBinaries,
  user: ServerUser | null,
  postmaster: Postmaster,
): Promise<void> {
  const stop = (mode: 'fast' | 'immediate') =>
    run(
      binaries.pgCtl,
      ['stop', '--silent', '--wait', '--timeout', String(STOP_MS / 1000), '--mode', mode, '--pgdata', data.cluster],
      { user, timeoutMs: STOP_MS + 10_000 },
    );
  const fast = await stop('fast');
  // After an immediate stop, the next start recovers from the write-ahead log.
  if (fast.status !== 0 && (await findPostmaster(data)) !== null) await stop('immediate');
  if (postmaster.socketDirectory !== data.socketDirectory)
    await rmdir(postmaster.socketDirectory).catch(() => undefined);
}

/**
 * Choose the directory of the socket: the data directory or, if its path is too long for a socket address, a directory
 * in the system's temporary folder named by a hash of the path. `postmaster.pid` records it for other processes.
 */
async function chooseSocketDirectory(data: DataDirectory, user: ServerUser | null): Promise<string> {
  const hash = createHash('sha256').update(data.path).digest('hex').slice(0, 12);
  const candidates = [data.socketDirectory, ...[tmpdir(), '/tmp'].map((base) => path.join(base, `service-pg-${hash}`))];
  for (const directory of candidates) {
    if (Buffer.byteLength(socketPath(directory, PORT)) > SOCKET_PATH_BYTES_MAX) continue;
    if (user !== null && !(await canTraverse(path.dirname(directory), user))) continue;
    await ensureSocketDirectory(directory, user);
    return directory;
  }
  throw unusable(
    `the path ${data.path} and that of the temporary directory are too long for a unix socket; choose a data directory with a shorter path`,
    'postgres_socket_path_too_long',
  );
}

async function rotateLog(data: DataDirectory): Promise<void> {
  const size = await stat(data.logFile).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LOG_BYTES_MAX) await rename(data.logFile, `${data.logFile}.1`);
}

async function tailOfLog(data: DataDirectory): Promise<string> {
  const text = await readFile(data.logFile, 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-5).join('\n');
}

function startFailed(data: DataDirectory, reason: string, logTail: string): AppError {
  return tryLater(
    `the embedded PostgreSQL in ${data.cluster} did not start: ${reason}${logTail === '' ? '' : `\n${logTail}`}\nIts log: ${data.logFile}`,
    'postgres_start_failed',
    { retryAfterSeconds: 5 },
  );
}
