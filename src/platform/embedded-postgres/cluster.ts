import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, chown, lstat, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unusable } from '../errors.ts';
import { Secret } from '../secret.ts';
import type { PostgresBinaries } from './binaries.ts';
import type { DataDirectory } from './data-directory.ts';
import { run, type ServerUser } from './run.ts';

export const SUPERUSER = 'service';
const INITDB_MS = 300_000;

/**
 * Create the cluster if there is none: UTF-8, PostgreSQL's own C.UTF-8 (equal order on every system, no dependency on
 * its locales), password login only. Create it under a temporary name and rename it, so that a killed process leaves no
 * incomplete cluster. Call this under the lock of the data directory.
 * @throws AppError `postgres_version_mismatch` if the cluster is of another major version, `postgres_initdb_failed`
 */
export async function ensureCluster(
  data: DataDirectory,
  binaries: PostgresBinaries,
  user: ServerUser | null,
  options: { durable: boolean },
): Promise<void> {
  const version = await readFile(path.join(data.cluster, 'PG_VERSION'), 'utf8').catch(() => null);
  if (version === null) return createCluster(data, binaries, user, options);
  if (version.trim() === binaries.majorVersion) return;
  throw unusable(
    `${data.cluster} was created by PostgreSQL ${version.trim()}, but this release contains PostgreSQL ${binaries.majorVersion}. ` +
      'Start the release that made it and make a backup; then move that directory away, start this release and restore the backup.',
    'postgres_version_mismatch',
  );
}

async function createCluster(
  data: DataDirectory,
  binaries: PostgresBinaries,
  user: ServerUser | null,
  options: { durable: boolean },
): Promise<void> {
  const password = await ensurePassword(data);
  const temporary = path.join(data.path, `postgres.new-${randomUUID()}`);
  const cluster = path.join(temporary, 'cluster');
  const passwordCopy = path.join(temporary, 'password'); // readable for the user of the server
  try {
    await mkdir(temporary, { mode: 0o700 });
    await writeFile(passwordCopy, password.reveal(), { mode: 0o600 });
    await changeOwner(user, temporary, passwordCopy);
    const result = await run(
      binaries.initdb,
      [
        `--pgdata=${cluster}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordCopy}`,
        '--auth=scram-sha-256',
        // Iterations protect weak passwords. With 32 random bytes they would only slow down every connection.
        '--set=scram_iterations=1',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
        '--no-instructions',
        ...(options.durable ? [] : ['--no-sync']),
      ],
      { user, timeoutMs: INITDB_MS },
    );
    if (result.status !== 0) {
      throw unusable(
        `PostgreSQL could not create its files in ${data.path}: ${lastLine(result.stderr)}`,
        'postgres_initdb_failed',
        { details: { stderr: result.stderr } },
      );
    }
    await rename(cluster, data.cluster);
    if (options.durable) await syncDirectory(data.path);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Read or create the password of the superuser: 32 random bytes, readable by the owner of the data directory. */
async function ensurePassword(data: DataDirectory): Promise<Secret> {
  const existing = await readFile(data.passwordFile, 'utf8').catch(() => null);
  if (existing !== null && existing.trim() !== '') return new Secret(existing.trim());
  const password = randomBytes(32).toString('base64url');
  const temporary = `${data.passwordFile}.${randomUUID()}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(password);
    await file.sync();
  } finally {
    await file.close();
  }
  await data.own(temporary);
  await rename(temporary, data.passwordFile);
  return new Secret(password);
}

/** @throws AppError `postgres_password_unreadable` */
export async function readPassword(data: DataDirectory): Promise<Secret> {
  try {
    return new Secret((await readFile(data.passwordFile, 'utf8')).trim());
  } catch (cause) {
    throw unusable(
      `cannot read ${data.passwordFile}, which holds the password of the database in ${data.cluster}: restore the file, or run as the user who owns it`,
      'postgres_password_unreadable',
      { cause },
    );
  }
}

/**
 * Write `postgresql.conf` with modest settings for a shared machine. PostgreSQL reads the operator's settings from
 * `<data dir>/postgres.conf` last.
 */
export async function writeSettings(
  data: DataDirectory,
  user: ServerUser | null,
  socketDirectory: string,
  overrides: Readonly<Record<string, string>>,
): Promise<void> {
  const settings: Record<string, string> = {
    listen_addresses: '',
    // The value is a list. Double quotes keep a comma or a space in the path from splitting it.
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: '200',
    shared_buffers: '128MB',
    fsync: 'on',
    // Parallel plans take shared memory from /dev/shm, of which a container has 64 MB.
    max_parallel_workers_per_gather: '0',
    max_parallel_maintenance_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    datestyle: 'iso, mdy',
    lc_messages: 'C',
    default_text_search_config: 'pg_catalog.simple',
    // Bound the log: starts, stops, recoveries and fatal errors, but no statements, rows or keys.
    logging_collector: 'off',
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    ...overrides,
  };
  const ownSettings = path.join(data.path, 'postgres.conf');
  const hasOwnSettings = await readFile(ownSettings).then(
    () => true,
    () => false,
  );
  const text = [
    '# Written at every start; own settings go to postgres.conf in the data directory.',
    ...Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`),
    hasOwnSettings ? `include = '${ownSettings.replaceAll("'", "''")}'` : '',
    '',
  ].join('\n');
  const file = path.join(data.cluster, 'postgresql.conf');
  if ((await readFile(file, 'utf8').catch(() => null)) === text) return;
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, text, { mode: 0o600 });
  await changeOwner(user, temporary);
  await rename(temporary, file);
}

/**
 * Create the directory for the unix socket. Only the server's user may enter it. An existing one must belong to that
 * user, since another user may have created it first in the shared temporary directory.
 * @throws AppError `postgres_socket_directory_foreign`
 */
export async function ensureSocketDirectory(directory: string, user: ServerUser | null): Promise<void> {
  await mkdir(directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(directory);
  const own = process.getuid?.();
  if (!found.isDirectory() || (found.uid !== own && found.uid !== user?.uid)) {
    throw unusable(
      `${directory}, the directory for the socket of the database, belongs to another user: remove it, or choose a data directory with a shorter path`,
      'postgres_socket_directory_foreign',
    );
  }
  await changeOwner(user, directory);
  await chmod(directory, 0o700);
}

export async function changeOwner(user: ServerUser | null, ...files: string[]): Promise<void> {
  if (user !== null) for (const file of files) await chown(file, user.uid, user.gid);
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
