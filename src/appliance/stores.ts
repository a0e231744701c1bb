import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasSecretKeyCheck } from '../access/organization-store.ts';
import { secretKeyMissing } from '../access/secret-key-check.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import { openNotifier } from '../jobs/open-notifier.ts';
import type { Config } from '../platform/config.ts';
import { FairGate } from '../platform/fair-gate.ts';
import type { Logger } from '../platform/logger.ts';
import { migrate, pendingMigrations } from '../platform/migrate.ts';
import { openDiskObjects } from '../platform/objects/disk.ts';
import { guardDeletions } from '../platform/objects/guard-deletions.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { PoolLoad } from '../platform/pool-metrics.ts';
import {
  checkServer,
  type Database,
  openPostgres,
  type PostgresTarget,
  primaryReads,
  QUERY_MS,
  type Reads,
  ReplicaReads,
  type Sql,
} from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import type { Secret } from '../platform/secret.ts';
import {
  deriveKeyRing,
  type KeyRing,
  readOrCreateSecretKey,
  readSecretKey,
  secretKeyFile,
} from '../platform/secret-key.ts';
import type { Tracing } from '../platform/span.ts';
import { openThreads, type Threads } from '../platform/threads.ts';
import { openTracing } from '../platform/tracing.ts';
import { type DatabaseTargets, findDatabase } from './find-database.ts';
import { OpenParts } from './open-parts.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url));

/** Connections for LISTEN and for commands that inspect the database. Locks have separate connections. */
const DIRECT_POOL_MAX = 2;

/** Time without an answer from the replica after which to try a new connection. The primary can answer instead. */
const REPLICA_SILENCE_MS = 2_000;

/** Stores and shared services that every domain uses. */
export interface Stores {
  readonly logger: Logger;
  /** Tracing; null if no collector is configured. */
  readonly tracing: Tracing | null;
  readonly sql: Sql;
  /** Reads that a replica may answer. */
  readonly reads: Reads;
  /** Gate that shares the connections of `sql` among organizations. */
  readonly queryShares: FairGate;
  /** Connection for LISTEN and advisory locks; never through a transaction pooler. */
  readonly direct: Sql;
  readonly redis: RedisConnection | null;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly keyRing: KeyRing;
  readonly notifier: JobNotifier;
  /** Loads of the pools of this process, for metrics. */
  readonly pools: readonly PoolLoad[];
}

/**
 * Find or start PostgreSQL, bring its schema up to date, and open files, Redis and threads.
 *
 * @param options.poolMax maximum number of connections to PostgreSQL; a command needs few
 * @param options.database result of `findDatabase`, if it was already called
 * @throws AppError `data_dir_unusable` (503), `database_too_new`, and what `checkServer` throws
 */
export async function openStores(
  config: Config,
  options: { readonly logger: Logger; readonly poolMax?: number; readonly database?: Promise<DatabaseTargets> },
  opened: OpenParts,
): Promise<Stores> {
  const { logger, poolMax = 20 } = options;
  const finding = options.database ?? findDatabase(config, logger);
  // A failure is thrown below. Until then, it must not count as unhandled.
  finding.catch(() => undefined);
  // Close tracing last, since the other parts may end spans while they close.
  const tracing = await openTracing(config, logger);
  if (tracing !== null) opened.add(tracing);
  const database = opened.add(await finding);
  const pool = { poolMax, applicationName: 'service', queryMsMax: QUERY_MS.other, logger };
  const sql = openSql(database.pooled, pool, opened);
  const direct = openSql(
    database.direct,
    { poolMax: DIRECT_POOL_MAX, applicationName: 'service/direct', logger },
    opened,
  );
  await checkServers(config, direct, sql);
  // Usually nothing is pending, so a second connection would be wasted.
  const pending = await pendingMigrations(sql, { directory: MIGRATIONS });
  if (pending.length > 0) await migrate(direct, { directory: MIGRATIONS });
  const reads = opened.add(openReads(config, sql, { poolMax, logger }));
  const keyRing = deriveKeyRing(config.secretKey ?? (await readOrMakeSecretKey(config.dataDir, sql)));
  const threads = opened.add(openThreads());
  const objects = guardDeletions(opened.add(await openObjects(config, logger, threads)), sql);
  const redis = await connectToRedis(config, logger, opened);
  const notifier = await openNotifier({ sql, direct, redis, logger });
  const pools = [
    { pool: 'postgres', max: poolMax, pending: () => sql.pending() },
    { pool: 'postgres_direct', max: DIRECT_POOL_MAX, pending: () => direct.pending() },
    { pool: 'threads', max: threads.load().threadsMax, pending: () => threads.load().pending },
  ];
  return {
    logger,
    tracing,
    sql,
    reads,
    queryShares: sharesOf(poolMax),
    direct,
    redis,
    objects,
    threads,
    keyRing,
    notifier,
    pools,
  };
}

/** Open the replica, if there is one. The server also starts if it is down, since the primary answers instead. */
export function openReads(
  { databaseReplica }: Config,
  primary: Sql,
  { poolMax, logger }: { readonly poolMax: number; readonly logger: Logger },
): Reads {
  if (databaseReplica === null) return primaryReads(primary);
  const { url, maxLagMs } = databaseReplica;
  const options = { poolMax, applicationName: 'service/replica', silenceMs: REPLICA_SILENCE_MS, logger };
  return new ReplicaReads({ primary, replica: openPostgres({ url }, options) }, { maxLagMs, logger });
}

async function connectToRedis({ redis }: Config, logger: Logger, opened: OpenParts): Promise<RedisConnection | null> {
  if (redis === null) return null;
  const { openRedis } = await import('../platform/redis.ts'); // the client takes a while to load
  return opened.add(openRedis(redis, logger));
}

/** Give each organization at most half of the connections, and reserve some for work outside requests. */
function sharesOf(poolMax: number): FairGate {
  const runningMax = Math.max(1, poolMax - 2);
  return new FairGate({ runningMax, runningOfOneMax: Math.ceil(runningMax / 2), waitingOfOneMax: 1_000 });
}

/**
 * Open only the database, without migrating it, for commands that inspect or migrate it.
 *
 * @throws AppError `postgres_unavailable` (503), `data_dir_unusable`, and errors of `openEmbeddedPostgres`
 */
export async function openDatabase(
  config: Config,
  logger: Logger,
  applicationName = 'service',
): Promise<{ sql: Sql; close(): Promise<void> }> {
  const opened = new OpenParts();
  const { direct } = opened.add(await findDatabase(config, logger));
  const sql = openSql(direct, { poolMax: 2, applicationName, logger }, opened);
  try {
    await checkServers(config, sql, null);
  } catch (error) {
    await opened.close();
    throw error;
  }
  return { sql, close: () => opened.close() };
}

/** Open only the file storage. @param threads read and write many small files on a disk */
export async function openObjects(config: Config, logger: Logger, threads?: Threads): Promise<Objects> {
  if (config.objects === null) {
    return openDiskObjects({ directory: path.join(config.dataDir, 'objects'), ...(threads ? { threads } : {}) });
  }
  const { openS3Objects } = await import('../platform/objects/s3.ts'); // the SDK takes a while to load
  return openS3Objects(config.objects, logger);
}

function openSql(target: PostgresTarget, options: Parameters<typeof openPostgres>[1], opened: OpenParts): Database {
  const sql = openPostgres(target, options);
  opened.add({ close: () => sql.end({ timeout: 5 }) });
  return sql;
}

/** Check the operator's database servers, but not our embedded one. `sql` is null if only `direct` is open. */
async function checkServers(config: Config, direct: Sql, sql: Sql | null): Promise<void> {
  const { databaseUrl, databaseDirectUrl } = config;
  if (databaseUrl === null) return;
  const isOne = databaseDirectUrl === null || databaseDirectUrl.reveal() === databaseUrl.reveal();
  await checkServer(direct, databaseDirectUrl ?? databaseUrl, isOne ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL');
  if (!isOne && sql !== null) await checkServer(sql, databaseUrl, 'DATABASE_URL');
}

/**
 * Read the secret key of the data directory, or create one for a new installation.
 * @throws AppError `secret_key_missing` (500) if the database has a key that isn't here
 */
async function readOrMakeSecretKey(dataDir: string, sql: Sql): Promise<Secret> {
  const key = readSecretKey(dataDir);
  if (key !== null) return key;
  if (await hasSecretKeyCheck(sql)) throw secretKeyMissing(secretKeyFile(dataDir));
  return readOrCreateSecretKey(dataDir);
}
