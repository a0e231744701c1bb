import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ballastFile } from '../platform/ballast.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';

/** Names by which a directory is recognised as a data directory, which nothing else uses. */
const OWN_NAMES = ['secret.key', 'postgres', 'objects', 'service.yaml'];

/**
 * Create the data directory if it is missing, and close it to other users: it holds keys, and texts of documents.
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
    // On a disk that is full to the last file, the ballast file is deleted next.
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC' && existsSync(ballastFile(dataDir))) return;
    throw new AppError({
      code: 'data_dir_unusable',
      status: 503,
      message: `cannot write to the data directory ${dataDir} (${(error as NodeJS.ErrnoException).code}); choose another with --data-dir`,
      cause: error,
    });
  }
  closeToOthers(dataDir, { isEmbedded: databaseUrl === null, logger });
}

/**
 * Close a directory that other users can read. One that may belong to something else, such as a folder for temporary
 * files, is left as it is, with a warning.
 */
function closeToOthers(dataDir: string, { isEmbedded, logger }: { isEmbedded: boolean; logger: Logger }): void {
  const { uid, mode } = statSync(dataDir);
  // Entering without reading is left to the user of the embedded PostgreSQL, whose start closes it to all others.
  const isRootWithPostgres = isEmbedded && uid === 0;
  const opening = mode & (isRootWithPostgres ? 0o066 : 0o077);
  if (process.platform === 'win32' || opening === 0) return;
  const names = readdirSync(dataDir);
  const isOurs = uid === process.getuid?.() && (names.length === 0 || names.some((name) => OWN_NAMES.includes(name)));
  if (isOurs) chmodSync(dataDir, mode & 0o7777 & ~opening);
  else logger.warn(`other users can enter the data directory ${dataDir}; close it by: chmod 700 ${dataDir}`);
}
