import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ballastFile } from '../platform/ballast.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import { isRefusal } from '../platform/file-refusal.ts';
import type { Logger } from '../platform/logger.ts';
import { osUserName } from '../platform/os-user.ts';

/** Names that identify a data directory, since nothing else uses them. */
const OWN_NAMES = ['secret.key', 'postgres', 'objects', 'service.yaml'];

/**
 * Create a missing data directory. Close it to other users, since it contains keys and document texts.
 *
 * @throws AppError `data_dir_unusable` (503)
 */
export function makeDataDir({ dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>, logger: Logger): void {
  try {
    mkdirSync(path.dirname(dataDir), { recursive: true }); // the parent folders stay open to others
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const probe = path.join(dataDir, `.probe-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (error) {
    // On a completely full disk, the ballast file is deleted next.
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC' && existsSync(ballastFile(dataDir))) return;
    const who = isRefusal(error) ? ` as the user "${osUserName()}"` : '';
    throw new AppError({
      code: 'data_dir_unusable',
      status: 503,
      message: `cannot write to the data directory ${dataDir} (${(error as NodeJS.ErrnoException).code})${who}; choose another with --data-dir`,
      cause: error,
    });
  }
  closeToOthers(dataDir, { isEmbedded: databaseUrl === null, logger });
}

/**
 * Close a directory that other users can read. If the directory may have other uses, such as temporary files, leave it
 * unchanged and warn.
 */
function closeToOthers(dataDir: string, { isEmbedded, logger }: { isEmbedded: boolean; logger: Logger }): void {
  const { uid, mode } = statSync(dataDir);
  // The embedded PostgreSQL's user needs to traverse the directory but not to read it. Its startup closes the directory
  // to all others. It may be running even if these settings name another database.
  const isRootWithPostgres = uid === 0 && (isEmbedded || existsSync(path.join(dataDir, 'postgres')));
  const opening = mode & (isRootWithPostgres ? 0o066 : 0o077);
  if (process.platform === 'win32' || opening === 0) return;
  const names = readdirSync(dataDir);
  const isOurs = uid === process.getuid?.() && (names.length === 0 || names.some((name) => OWN_NAMES.includes(name)));
  if (isOurs) chmodSync(dataDir, mode & 0o7777 & ~opening);
  else logger.warn(`other users can enter the data directory ${dataDir}; close it by: chmod 700 ${dataDir}`);
}
