import { chmod, chown, lstat, mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { unusable } from '../errors.ts';
import { run, type ServerUser } from './run.ts';

/** Paths of the embedded PostgreSQL in the data directory of the appliance, and their owner. */
export interface DataDirectory {
  readonly path: string;
  readonly cluster: string;
  readonly passwordFile: string;
  readonly lockFile: string;
  readonly logFile: string;
  readonly usersDirectory: string;
  readonly usersPipe: string;
  readonly socketDirectory: string;
  readonly binariesDirectory: string;
  /** Give a file that root created to the owner of the data directory, who may later run without root. */
  own(file: string): Promise<void>;
}

/** Create the data directory if it is missing, and return its paths. */
export async function openDataDirectory(dataDir: string): Promise<DataDirectory> {
  await mkdir(path.dirname(path.resolve(dataDir)), { recursive: true }); // the parent folders stay open to others
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const directory = await realpath(dataDir);
  const owner = await stat(directory);
  const isForeign = isRoot() && owner.uid !== 0;
  return {
    path: directory,
    cluster: path.join(directory, 'postgres'),
    passwordFile: path.join(directory, 'postgres.password'),
    lockFile: path.join(directory, 'postgres.lock'),
    logFile: path.join(directory, 'postgres.log'),
    usersDirectory: path.join(directory, 'postgres.users'),
    usersPipe: path.join(directory, 'postgres.users-pipe'),
    socketDirectory: path.join(directory, 'postgres.socket'),
    binariesDirectory: path.join(directory, 'postgres-bin'),
    own: async (file) => {
      if (isForeign) await chown(file, owner.uid, owner.gid);
    },
  };
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

const LEFTOVERS = /^postgres\.(lock[-.]|new-)/;
const LEFTOVER_MS = 3_600_000;

/** Remove what killed processes left: incomplete clusters and claims to the lock. */
export async function removeLeftovers(data: DataDirectory): Promise<void> {
  for (const name of await readdir(data.path)) {
    if (!LEFTOVERS.test(name)) continue;
    const file = path.join(data.path, name);
    const found = await lstat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > LEFTOVER_MS) await rm(file, { recursive: true, force: true });
  }
}

/**
 * Make sure that `user` can traverse the data directory. Only root needs this, because the server then runs as another
 * user. A data directory of root becomes traversable, but not readable, for the group of that user, and closed to all
 * others.
 * @throws AppError `data_directory_unreachable` if a directory above is closed to that user
 */
export async function allowTraversal(data: DataDirectory, user: ServerUser): Promise<void> {
  const { uid, gid, mode } = await stat(data.path);
  const isOpenToOthers = (mode & 0o067) !== 0;
  if (uid === 0 && (isOpenToOthers || !(await canTraverse(data.path, user)))) {
    await chown(data.path, 0, user.gid);
    await chmod(data.path, 0o710);
    if (await canTraverse(data.path, user)) return;
    // The user may have other access, or a directory above is closed.
    await chown(data.path, 0, gid);
    await chmod(data.path, mode & 0o7777);
  }
  if (await canTraverse(data.path, user)) return;
  throw unusable(
    `PostgreSQL cannot run as root. It would run as user id ${user.uid}, which cannot enter ${data.path}. ` +
      'Choose a data directory elsewhere (--data-dir /var/lib/service), run as an ordinary user, or set DATABASE_URL.',
    'data_directory_unreachable',
  );
}

/**
 * Return true if `user` can traverse a directory. Test as that user, because modes don't reflect ACLs, mount options
 * and security modules.
 */
export async function canTraverse(directory: string, user: ServerUser): Promise<boolean> {
  const result = await run('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], { user });
  return result.status === 0;
}
