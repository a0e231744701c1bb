import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { DataDirectory } from './data-directory.ts';
import { livenessOf, ownIdentity, ProcessIdentity } from './process-identity.ts';

/**
 * Register a user of the server: a file per open handle, which contains the identity of its process. Call every
 * function of this file under the lock of the data directory.
 */
export async function registerUser(data: DataDirectory): Promise<string> {
  await mkdir(data.usersDirectory, { recursive: true, mode: 0o700 });
  await data.own(data.usersDirectory);
  const file = path.join(data.usersDirectory, `${process.pid}-${randomUUID().slice(0, 8)}`);
  await writeFile(file, JSON.stringify(await ownIdentity()), { flag: 'wx', mode: 0o600 });
  await data.own(file);
  return file;
}

export async function unregisterUser(file: string): Promise<void> {
  await rm(file, { force: true });
}

/** Count the living users in this pid namespace, and remove the files of dead ones. */
export async function countLiveUsers(data: DataDirectory): Promise<number> {
  let alive = 0;
  for (const file of await listUserFiles(data)) {
    const identity = await readIdentity(file);
    const liveness = identity === null ? 'dead' : await livenessOf(identity);
    if (liveness === 'alive') alive++;
    if (liveness === 'dead') await rm(file, { force: true });
  }
  return alive;
}

/**
 * Remove all users that are not alive in this namespace. Call this only while no server runs: the users of other
 * namespaces ended with it.
 */
export async function forgetFormerUsers(data: DataDirectory): Promise<void> {
  for (const file of await listUserFiles(data)) {
    const identity = await readIdentity(file);
    if (identity === null || (await livenessOf(identity)) !== 'alive') await rm(file, { force: true });
  }
}

async function listUserFiles(data: DataDirectory): Promise<string[]> {
  const names = await readdir(data.usersDirectory).catch(() => []);
  return names.map((name) => path.join(data.usersDirectory, name));
}

async function readIdentity(file: string): Promise<ProcessIdentity | null> {
  try {
    return ProcessIdentity.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}
