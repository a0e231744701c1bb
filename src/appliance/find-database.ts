import { releaseBallastIfFull } from '../platform/ballast.ts';
import type { Config } from '../platform/config.ts';
import { openEmbeddedPostgres } from '../platform/embedded-postgres.ts';
import type { Logger } from '../platform/logger.ts';
import type { PostgresTarget } from '../platform/postgres/target.ts';
import { makeDataDir } from './data-dir.ts';

/** Targets for connections to the database of an installation. */
export interface DatabaseTargets {
  readonly pooled: PostgresTarget;
  readonly direct: PostgresTarget;
  /** Stop using the database. Close all connections first. */
  close(): Promise<void>;
}

/**
 * Prepare the data directory and find the operator's PostgreSQL, or the embedded one, and start that if necessary.
 *
 * @param options.isShort true for a process that ends soon: it leaves the embedded server running for some seconds, for
 *   the next process
 * @throws AppError `data_dir_unusable` (503), and errors of `openEmbeddedPostgres`
 */
export async function findDatabase(
  config: Config,
  logger: Logger,
  { isShort = false }: { readonly isShort?: boolean } = {},
): Promise<DatabaseTargets> {
  makeDataDir(config, logger);
  await releaseBallastAtStart(config.dataDir, logger);
  if (config.databaseUrl) {
    const { databaseUrl, databaseDirectUrl } = config;
    const direct = { url: databaseDirectUrl ?? databaseUrl };
    const pooled = { url: databaseUrl, isPooled: direct.url.reveal() !== databaseUrl.reveal() };
    return { pooled, direct, close: async () => undefined };
  }
  const embedded = await openEmbeddedPostgres({ dataDir: config.dataDir, logger });
  const { connection } = embedded;
  return { pooled: connection, direct: connection, close: () => embedded.release({ isKept: isShort }) };
}

/** Release the ballast on a full disk. Otherwise PostgreSQL wouldn't start, and no chore could release it. */
async function releaseBallastAtStart(dataDir: string, logger: Logger): Promise<void> {
  const freed = await releaseBallastIfFull(dataDir);
  if (freed === null) return;
  logger.error(
    { freed_bytes: freed, data_dir: dataDir },
    'the disk is full: the ballast file was deleted; free some space',
  );
}
