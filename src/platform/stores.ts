import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { LanceTables } from '../search/lance.ts';
import type { Config } from './config.ts';
import { openEmbeddedPostgres } from './embedded-postgres.ts';
import { AppError } from './errors.ts';
import { newId } from './ids.ts';
import type { Logger } from './logger.ts';
import { openDiskObjects } from './objects/disk.ts';
import type { Objects } from './objects/objects.ts';
import { openPostgres, type PostgresTarget, type Sql } from './postgres.ts';

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
export function openObjects(config: Config): Promise<Objects> {
  return openDiskObjects({ directory: path.join(config.dataDir, 'objects') });
}

/** The search index alone. */
export function openTables(config: Config): LanceTables {
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

/** Write, read back, delete: what every upload needs. */
export async function probeObjects(objects: Objects): Promise<void> {
  const key = `probes/${newId('probe')}`;
  await objects.put(key, Buffer.from('probe'));
  await objects.get(key);
  await objects.delete(key);
}
