import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrap } from '../access/bootstrap.ts';
import type { Caller } from '../access/caller.ts';
import { sweepIdempotencyKeys } from '../access/idempotency.ts';
import { operatorActor } from '../access/operator.ts';
import { createOrganization } from '../access/organizations.ts';
import { type CallerResolver, openCallerResolver } from '../access/resolve-caller.ts';
import type { NewOrganization, Organization } from '../access/schema.ts';
import { checkSecretKey } from '../access/secret-key-check.ts';
import { purgeDeleted } from '../documents/documents.ts';
import { BucketPolicy } from '../documents/schema.ts';
import { insertBucket } from '../documents/store.ts';
import { sweepOrphans } from '../documents/sweep-orphans.ts';
import { type Embedder, openEmbedder } from '../embedding/embedder.ts';
import { ingestHandler } from '../ingest/ingest-handler.ts';
import type { UploadContext } from '../ingest/upload.ts';
import { type Doorbell, openPostgresDoorbell } from '../jobs/doorbell.ts';
import { jobRecovery } from '../jobs/recovery.ts';
import { JobWorker } from '../jobs/worker.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { LanceTables } from '../search/lance.ts';
import type { SearchContext } from '../search/search.ts';
import { sweepGenerations } from '../search/sweep.ts';
import type { Config } from './config.ts';
import { openEmbeddedPostgres } from './embedded-postgres.ts';
import { AppError } from './errors.ts';
import { newId } from './ids.ts';
import type { Service } from './lifecycle.ts';
import type { Logger } from './logger.ts';
import { type Metrics, openMetrics } from './metrics.ts';
import { migrate } from './migrate.ts';
import { openDiskObjects } from './objects/disk.ts';
import type { Objects } from './objects/objects.ts';
import { osUserName } from './os-user.ts';
import { inTransaction, openPostgres, type PostgresTarget, type Sql } from './postgres.ts';
import { repeatingTask } from './repeating-task.ts';
import { deriveKeyRing, type KeyRing, readOrCreateSecretKey } from './secret-key.ts';
import { openThreads, type Threads } from './threads.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url));

const HOUSEKEEPING_MS = 60_000;
const ORPHANS_EVERY_MS = 6 * 3_600_000;
const ORPHANS_AGE_MS = 3_600_000;

/** Everything a running installation consists of, wired together. Commands, routes and tests start here. */
export interface Appliance {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly keyRing: KeyRing;
  readonly callers: CallerResolver;
  readonly embedder: Embedder;
  readonly doorbell: Doorbell;
  readonly uploads: UploadContext;
  readonly search: SearchContext;
  /** Where the first start put the admin key. */
  readonly adminKeyFile: string;
  /** How the audit log names the person at the command line. */
  readonly operatorActor: string;
  /** Create an organization with its bucket `default`, as the person at the command line. */
  createOrganization(input: NewOrganization): Promise<Organization>;
  /** The person at the command line, acting for an organization (name or id). */
  operator(organization: string): Promise<Caller>;
  /**
   * A worker that takes ingest jobs; start it by `runServices` or by hand. `drainMs`: how long jobs under way may
   * take to finish at a stop, before they are handed back.
   */
  ingestWorker(options?: { drainMs?: number }): Service;
  /** Lease recovery and removal of what is deleted or left over. */
  reaper(): Service;
  /** Remove what was marked as deleted, now. */
  purge(signal: AbortSignal): Promise<void>;
  /** What works and what does not, part by part. */
  checkReady(): Promise<{ status: 'ok' | 'degraded' | 'down'; checks: Record<string, string> }>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly logger: Logger;
  /** Connections to PostgreSQL; a command needs few. */
  readonly poolMax?: number;
}

/**
 * Open an installation: find or start PostgreSQL, bring its schema up to date, make the first organization and
 * key where there is none, and wire everything. This is the only place that knows in which shape we run.
 *
 * @throws AppError `postgres_unavailable` (503), `database_too_new`, `config_invalid`
 */
export async function openAppliance(config: Config, options: OpenOptions): Promise<Appliance> {
  const { logger } = options;
  const cleanups: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    makeDataDir(config.dataDir);
    const database = await findDatabase(config, logger, cleanups);
    const poolMax = options.poolMax ?? 20;
    const sql = openPostgres(database.pooled, { poolMax, applicationName: 'service', logger });
    cleanups.push(() => sql.end({ timeout: 5 }));
    const direct = openPostgres(database.direct, { poolMax: 2, applicationName: 'service/direct', logger });
    cleanups.push(() => direct.end({ timeout: 5 }));
    await migrate(direct, { directory: MIGRATIONS });

    const keyRing = deriveKeyRing(config.secretKey ?? readOrCreateSecretKey(config.dataDir));
    await checkSecretKey(sql, keyRing);
    const { keyFile } = await bootstrap(sql, { dataDir: config.dataDir, keyRing, createDefaultBucket });
    const objects = await openObjects(config);
    const threads = openThreads();
    cleanups.push(() => threads.close());
    const tables = openTables(config);
    cleanups.push(() => tables.close());
    const index = new IndexWriter({ sql, direct, tables, logger });
    cleanups.push(() => index.close());
    const metrics = openMetrics();
    const embedder = openEmbedder({ threads, metrics });
    const doorbell = openPostgresDoorbell(sql, direct);
    const callers = openCallerResolver({ sql, keyRing, oidc: config.oidc, logger });
    const handler = ingestHandler({ sql, objects, threads, embedder, index, limits: config.limits });
    const purge = async (signal: AbortSignal) => {
      await purgeDeleted(sql, objects, index, signal);
    };

    return {
      config,
      logger,
      metrics,
      sql,
      objects,
      threads,
      keyRing,
      callers,
      embedder,
      doorbell,
      uploads: { sql, objects, doorbell, logger },
      search: { sql, tables, embedder },
      adminKeyFile: keyFile,
      operatorActor: operatorActor(osUserName()),
      createOrganization: (input) =>
        inTransaction(sql, async (tx) => {
          const organization = await createOrganization(tx, operatorActor(osUserName()), input);
          await createDefaultBucket(tx, organization.id);
          return organization;
        }),
      operator: (organization) => callers.resolveOperator(organization),
      ingestWorker: (workerOptions = {}) =>
        new JobWorker({ sql, doorbell, logger, metrics }, handler, {
          concurrency: config.workers.ingestConcurrency,
          leaseMs: config.workers.leaseMs,
          retriesMax: config.workers.retriesMax,
          ...workerOptions,
        }),
      reaper: () =>
        inTurn('reaper', [
          jobRecovery({ sql, doorbell, logger }, new Map([['ingest', handler]])),
          repeatingTask('housekeeping', HOUSEKEEPING_MS, logger, async (signal) => {
            await purge(signal);
            await sweepGenerations(sql, objects, index, signal);
            await index.settleAbandoned(signal);
            await sweepIdempotencyKeys(sql);
          }),
          repeatingTask('removal of orphaned files', ORPHANS_EVERY_MS, logger, async (signal) => {
            await sweepOrphans(sql, objects, ORPHANS_AGE_MS, signal);
          }),
        ]),
      purge,
      checkReady: () => checkReady({ sql, objects, tables }),
      close,
    };
  } catch (error) {
    await close().catch((cause) => logger.warn({ err: cause }, 'could not close what was opened'));
    throw error;
  }
}

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

interface Database {
  readonly pooled: PostgresTarget;
  /** For LISTEN and advisory locks, which do not survive a transaction pooler. */
  readonly direct: PostgresTarget;
}

async function findDatabase(config: Config, logger: Logger, cleanups: (() => Promise<void>)[]): Promise<Database> {
  if (config.databaseUrl) {
    return { pooled: { url: config.databaseUrl }, direct: { url: config.databaseDirectUrl ?? config.databaseUrl } };
  }
  const embedded = await openEmbeddedPostgres({ dataDir: config.dataDir, logger });
  cleanups.push(() => embedded.release());
  return { pooled: embedded.connection, direct: embedded.connection };
}

function makeDataDir(dataDir: string): void {
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

async function checkReady(parts: { sql: Sql; objects: Objects; tables: LanceTables }) {
  const checks: Record<string, string> = {};
  const check = async (name: string, probe: () => Promise<unknown>) => {
    try {
      await probe();
      checks[name] = 'ok';
    } catch (error) {
      checks[name] = error instanceof AppError ? error.message : 'fails';
    }
  };
  await Promise.all([
    check('database', () => parts.sql`SELECT 1`),
    check('objects', () => probeObjects(parts.objects)),
    check('index', () => parts.tables.probe()),
  ]);
  const down = Object.values(checks).some((state) => state !== 'ok');
  return { status: down ? ('down' as const) : ('ok' as const), checks };
}

async function createDefaultBucket(sql: Sql, orgId: string): Promise<void> {
  await insertBucket(sql, orgId, { id: newId('bkt'), name: 'default', policy: BucketPolicy.parse({}) });
}

/** Write, read back, delete: what every upload needs. */
export async function probeObjects(objects: Objects): Promise<void> {
  const key = `probes/${newId('probe')}`;
  await objects.put(key, Buffer.from('probe'));
  await objects.get(key);
  await objects.delete(key);
}

/** Several services as one, started in order and stopped in reverse. */
function inTurn(name: string, services: readonly Service[]): Service {
  return {
    name,
    async start(signal) {
      for (const service of services) await service.start(signal);
    },
    async stop() {
      for (const service of services.toReversed()) await service.stop();
    },
  };
}
