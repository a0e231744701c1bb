import { stat } from 'node:fs/promises';
import { unusable } from '../errors.ts';
import { type DataDirectory, isRoot } from './data-directory.ts';
import { run, type ServerUser } from './run.ts';

const EXISTING_USERS = ['postgres', '_postgres', 'service-postgres'];
const NEW_USER = 'service-postgres';

/**
 * Find the user to run the server as: null (this process's user) unless that is root, which PostgreSQL refuses. For
 * root, return the owner of an existing cluster, so that it never changes. Without a cluster, return the owner of the
 * data directory unless that is root, else `postgres`, else a system user created for this purpose, else `nobody`.
 */
export async function findServerUser(data: DataDirectory): Promise<ServerUser | null> {
  if (!isRoot()) return null;
  const cluster = await stat(data.cluster).catch(() => null);
  if (cluster !== null && cluster.uid !== 0) return { uid: cluster.uid, gid: cluster.gid };
  const directory = await stat(data.path);
  if (directory.uid !== 0) return { uid: directory.uid, gid: directory.gid };

  for (const name of EXISTING_USERS) {
    const user = await lookUp(name);
    if (user !== null) return user;
  }
  await run('useradd', [
    '--system',
    '--no-create-home',
    '--home-dir',
    '/nonexistent',
    '--shell',
    '/bin/false',
    NEW_USER,
  ]);
  const user = (await lookUp(NEW_USER)) ?? (await lookUp('nobody'));
  if (user !== null) return user;
  throw unusable(
    'PostgreSQL cannot run as root, and there is no user `postgres` or `nobody` to run it as. ' +
      'Create one (useradd --system postgres), run as an ordinary user, or set DATABASE_URL.',
    'postgres_user_missing',
  );
}

async function lookUp(name: string): Promise<ServerUser | null> {
  const uid = await run('id', ['-u', name]);
  const gid = await run('id', ['-g', name]);
  if (uid.status !== 0 || gid.status !== 0) return null;
  const user = { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  return user.uid > 0 ? user : null;
}
