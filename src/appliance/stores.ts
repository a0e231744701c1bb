import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../platform/config.ts';
import { openEmbeddedPostgres } from '../platform/embedded-postgres.ts';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { openDiskObjects } from '../platform/objects/disk.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { openPostgres, type PostgresTarget, type Sql } from '../platform/postgres.ts';
import { indexOnS3 } from '../search/index-on-s3.ts';
import { LanceTables } from '../search/lance.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url));

/**
 * Only the database, as it is: for commands that look at it or migrate it.
 *
 * @throws AppError `postgres_unavailable` (503), `data_dir_unusable`, and those of `openEmbeddedPostgres`
 */
export async function openDatabase(config: Config, logger: Logger): Promise<{ sql: Sql; close(): Promise<void> }> {
  const cleanups: (() => Promise<void>)[] = [];
  makeDataDir(config.dataDir);
  const { direct } = await findDatabase(config, logger, cleanups);
  const sql = openPostgres(direct, { poolMax: 2, applicationName: 'service', logger });
  return {
    sql,
    async close() {
      await sql.end({ timeout: 5 });
      for (const cleanup of cleanups) await cleanup();
    },
  };
}

/** The storage of files alone. */
export async function openObjects(config: Config, logger: Logger): Promise<Objects> {
  if (config.objects === null) return openDiskObjects({ directory: path.join(config.dataDir, 'objects') });
  const { openS3Objects } = await import('../platform/objects/s3.ts'); // the SDK takes a while to load
  return openS3Objects(config.objects, logger);
}

/**
 * The search index alone. On a store of objects it is safe only where `requireConditionalWrites` said so: writers are
 * serialised by a lock, and the store's conditional writes are what stops one that lost it without knowing.
 */
export function openTables(config: Config): LanceTables {
  if (config.objects !== null && config.index.storage === 's3') return new LanceTables(...indexOnS3(config.objects));
  const directory = path.join(config.dataDir, 'index');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return new LanceTables(directory);
}

/** Where the database is. */
export interface DatabasePlace {
  readonly pooled: PostgresTarget;
  /** For LISTEN and advisory locks, which do not survive a transaction pooler. */
  readonly direct: PostgresTarget;
}

/** The operator's PostgreSQL, or the embedded one, which is started where it does not run. */
export async function findDatabase(
  config: Config,
  logger: Logger,
  cleanups: (() => Promise<void>)[],
): Promise<DatabasePlace> {
  if (config.databaseUrl) {
    return { pooled: { url: config.databaseUrl }, direct: { url: config.databaseDirectUrl ?? config.databaseUrl } };
  }
  const embedded = await openEmbeddedPostgres({ dataDir: config.dataDir, logger });
  cleanups.push(() => embedded.release());
  return { pooled: embedded.connection, direct: embedded.connection };
}

/** @throws AppError `data_dir_unusable` (503) */
export function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    const probe = path.join(dataDir, `.probe-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (error) {
    throw new AppError({
      code: 'data_dir_unusable',
      status: 503,
      message: `cannot write to the data directory ${dataDir} (${(error as NodeJS.ErrnoException).code}); choose another with --data-dir`,
      cause: error,
    });
  }
}
