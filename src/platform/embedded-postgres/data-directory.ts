import { chmod, chown, lstat, mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { run, type ServerUser } from './run.ts';

/** What this module keeps in the appliance's data directory, and who owns it. */
export interface DataDirectory {
  readonly path: string;
  readonly cluster: string;
  readonly passwordFile: string;
  readonly lockFile: string;
  readonly logFile: string;
  readonly usersDirectory: string;
  readonly socketDirectory: string;
  readonly binariesDirectory: string;
  /** Give a file that root made to the owner of the data directory, who must be able to work without root later. */
  own(file: string): Promise<void>;
}

/** Make the data directory where it is missing, and name what is in it. */
export async function openDataDirectory(dataDir: string): Promise<DataDirectory> {
  await mkdir(path.dirname(path.resolve(dataDir)), { recursive: true }); // folders on the way stay passable
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
const LITTER_MS = 3_600_000;

/** Remove what processes that were killed left behind: half-made clusters, claims to the lock. */
export async function removeLeftovers(data: DataDirectory): Promise<void> {
  for (const name of await readdir(data.path)) {
    if (!LEFTOVERS.test(name)) continue;
    const file = path.join(data.path, name);
    const found = await lstat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > LITTER_MS) await rm(file, { recursive: true, force: true });
  }
}

/**
 * See to it that `user` can pass through the data directory; only needed as root, where the server is another
 * user. A data directory that is root's alone is opened to that user's group for passing, not for reading.
 *
 * @throws AppError `data_directory_unreachable` when a directory above is closed to that user
 */
export async function allowTraversal(data: DataDirectory, user: ServerUser): Promise<void> {
  if (await canTraverse(data.path, user)) return;
  const { uid, mode } = await stat(data.path);
  if (uid === 0 && (mode & 0o077) === 0) {
    await chown(data.path, 0, user.gid);
    await chmod(data.path, 0o710);
    if (await canTraverse(data.path, user)) return;
  }
  throw new AppError({
    code: 'data_directory_unreachable',
    status: 503,
    message:
      `PostgreSQL does not run as root, and user id ${user.uid}, which it runs as here, cannot enter ${data.path}. ` +
      'Choose a data directory elsewhere (--data-dir /var/lib/service), run as an ordinary user, or set DATABASE_URL.',
  });
}

/** Tried as that user rather than computed from modes: ACLs, mount options and security modules count too. */
export async function canTraverse(directory: string, user: ServerUser): Promise<boolean> {
  const result = await run('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], { user });
  return result.status === 0;
}
