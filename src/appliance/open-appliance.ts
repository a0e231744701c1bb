import { bootstrap } from '../access/bootstrap.ts';
import type { Caller } from '../access/caller.ts';
import { sweepIdempotencyKeys } from '../access/idempotency.ts';
import { operatorActor } from '../access/operator.ts';
import { findFirstOrganization } from '../access/organization-store.ts';
import { createOrganization } from '../access/organizations.ts';
import { type CallerResolver, openCallerResolver } from '../access/resolve-caller.ts';
import type { NewOrganization, Organization } from '../access/schema.ts';
import { checkSecretKey } from '../access/secret-key-check.ts';
import type { BulkContext } from '../bulk/bulk.ts';
import { bulkHandler } from '../bulk/bulk-handler.ts';
import { bulkOperations } from '../bulk/bulk-operations.ts';
import { sweepBulkOrphans, sweepBulkResults } from '../bulk/sweep-bulk.ts';
import { purgeDeleted, type RemovalContext } from '../documents/remove-documents.ts';
import { BucketPolicy } from '../documents/schema.ts';
import { insertBucket, jobVisibleTo } from '../documents/store.ts';
import { sweepOrphans } from '../documents/sweep-orphans.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { type Embedding, openEmbedding } from '../embedding/open-embedding.ts';
import { openChildPool } from '../ingest/extract/child-pool.ts';
import { ingestHandler } from '../ingest/ingest-handler.ts';
import { ingestOperations } from '../ingest/job-operations.ts';
import type { ReprojectContext } from '../ingest/reproject-bucket.ts';
import type { UploadContext } from '../ingest/upload.ts';
import { type Doorbell, openPostgresDoorbell } from '../jobs/doorbell.ts';
import type { JobKindOperations, JobOperations } from '../jobs/operations.ts';
import { recoverAndRing } from '../jobs/recovery.ts';
import { openRedisDoorbell } from '../jobs/redis-doorbell.ts';
import type { JobKind } from '../jobs/schema.ts';
import { JobWorker } from '../jobs/worker.ts';
import type { BulkEditContext } from '../metadata/edit-documents.ts';
import { queueHardDelete } from '../metadata/hard-delete.ts';
import { hardDeleteHandler } from '../metadata/hard-delete-handler.ts';
import { hardDeleteOperations } from '../metadata/hard-delete-operations.ts';
import type { Model } from '../models/catalog.ts';
import { type Chore, chore, choreService } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import { newId } from '../platform/ids.ts';
import { type Service, together } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import { type Metrics, openMetrics } from '../platform/metrics.ts';
import { migrate } from '../platform/migrate.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { osUserName } from '../platform/os-user.ts';
import { inTransaction, openPostgres, type Sql } from '../platform/postgres.ts';
import { openRedis, type RedisConnection } from '../platform/redis.ts';
import { deriveKeyRing, type KeyRing, readOrCreateSecretKey } from '../platform/secret-key.ts';
import { openThreads, type Threads } from '../platform/threads.ts';
import { checkCanaries } from '../projection/check-canaries.ts';
import type { ProjectionContext } from '../projection/fit-projection.ts';
import { openProjectionRegistry, type ProjectionRegistry } from '../projection/registry.ts';
import { openDocumentImages } from '../recognition/document-images.ts';
import { type ImageReader, openImageReader } from '../recognition/read-images.ts';
import { expungeBucket } from '../search/expunge-bucket.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { sweepTables } from '../search/replace-table.ts';
import { openReranker } from '../search/rerank/reranker.ts';
import type { SearchContext } from '../search/search.ts';
import { SeenIndexes } from '../search/seen-indexes.ts';
import { sweepGenerations } from '../search/sweep.ts';
import { type Account, type Meter, openMeter } from '../usage/meter.ts';
import { openRateLimiter, type RateLimiter } from '../usage/rates.ts';
import type { UsageSummary } from '../usage/schema.ts';
import { summarizeUsage } from '../usage/summarize-usage.ts';
import { type Readiness, readinessCheck } from './check-ready.ts';
import { claimStorage } from './claim-storage.ts';
import { findDatabase, MIGRATIONS, makeDataDir, openObjects, openTables } from './stores.ts';

const RECOVERY_MS = 5_000;
const HOUSEKEEPING_MS = 60_000;
const ORPHANS_EVERY_MS = 6 * 3_600_000;
const ORPHANS_AGE_MS = 3_600_000;
const CANARIES_EVERY_MS = 3_600_000;
const CANARIES_AGE_MS = 24 * 3_600_000;

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
  readonly projections: ProjectionRegistry;
  /** What fitting, evaluating and activating projections works on. */
  readonly calibration: ProjectionContext;
  readonly embedding: Embedding;
  readonly embedder: Embedder;
  readonly images: ImageReader;
  readonly meter: Meter;
  readonly rates: RateLimiter;
  readonly doorbell: Doorbell;
  readonly jobOperations: JobOperations;
  readonly uploads: UploadContext;
  readonly search: SearchContext;
  /** What editing metadata works on. */
  readonly metadata: BulkEditContext;
  /** What projecting a bucket anew works on. */
  readonly reprojection: ReprojectContext;
  readonly bulk: BulkContext;
  /** What an organization used in a period; this month by default. */
  summarizeUsage(
    account: Account,
    period: { from?: string | undefined; to?: string | undefined },
  ): Promise<UsageSummary>;
  /** Where the first start put the admin key. */
  readonly adminKeyFile: string;
  /** How the audit log names the person at the command line. */
  readonly operatorActor: string;
  /** Create an organization with its bucket `default`, as the person at the command line. */
  createOrganization(input: NewOrganization): Promise<Organization>;
  /** The person at the command line, acting for an organization (name or id). */
  operator(organization: string): Promise<Caller>;
  /**
   * A worker that takes ingest jobs and hard deletes; start it by `runServices` or by hand. `drainMs`: how long jobs under way may
   * take to finish at a stop, before they are handed back.
   */
  ingestWorker(options?: { drainMs?: number }): Service;
  /** The same for bulk embedding jobs. */
  bulkWorker(options?: { drainMs?: number }): Service;
  /** Lease recovery alone, which every process does that works on jobs. */
  recovery(): Service;
  /** Lease recovery and removal of what is deleted or left over. `everyMs`: the time between two rounds, at most. */
  reaper(options?: { everyMs?: number }): Service;
  /** What the reaper does, for doing it once. */
  chores(options?: { everyMs?: number }): Chore[];
  /** Remove what was marked as deleted, now. */
  purge(signal: AbortSignal): Promise<void>;
  /** What works and what does not, part by part. */
  checkReady(): Promise<Readiness>;
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
    const objects = await openObjects(config, logger);
    cleanups.push(() => objects.close());
    await claimStorage(config, objects, await findFirstOrganization(sql));
    const threads = openThreads();
    cleanups.push(() => threads.close());
    const tables = openTables(config);
    cleanups.push(() => tables.close());
    const index = new IndexWriter({ sql, direct, tables, logger });
    cleanups.push(() => index.close());
    const metrics = openMetrics();
    const redis = openRedisWhereSet(config, logger, cleanups);
    const meter = openMeter({ sql, plans: config.plans, logger });
    await meter.service.start(new AbortController().signal);
    cleanups.push(() => meter.service.stop());
    const projections = openProjectionRegistry({ sql, objects, threads, logger });
    await projections.refresh();
    await projections.service.start(new AbortController().signal);
    cleanups.push(() => projections.service.stop());
    const embedding = openEmbedding({
      ...{ config, sql, threads, metrics, logger, meter, redis },
      projections,
    });
    cleanups.push(() => embedding.close());
    const { embedder } = embedding;
    const calibration: ProjectionContext = {
      ...{ sql, objects, threads, logger, embed: embedding.embedNative },
      findModel: (id) => embedding.backends.catalog.find(id),
      requireServed: (model) => {
        embedding.backends.providerOf(model);
      },
    };
    const reranker = config.rerank && openReranker(config.rerank, { logger, metrics: embedding.upstreamMetrics });
    cleanups.push(async () => reranker?.close());
    const images = openImageReader({ vision: config.vision, logger });
    cleanups.push(() => images.close());
    const doorbell = redis ? openRedisDoorbell({ redis, logger }) : openPostgresDoorbell(sql, direct);
    const bulk: BulkContext = {
      ...{ sql, objects, threads, doorbell, logger, embedder, plans: config.plans },
      backends: embedding.backends,
      routing: embedding.routing,
      ...config.bulk,
    };
    const kinds = new Map<JobKind, JobKindOperations>([
      ['ingest', ingestOperations()],
      ['bulk', bulkOperations(bulk)],
      ['hard_delete', hardDeleteOperations()],
    ]);
    const jobOperations: JobOperations = { sql, doorbell, logger, visibleTo: jobVisibleTo, kinds };
    const callers = openCallerResolver({ sql, keyRing, oidc: config.oidc, logger });
    const pictures = openDocumentImages({ vision: config.vision, logger });
    cleanups.push(() => pictures.close());
    const children = openChildPool();
    cleanups.push(async () => children.close());
    const handler = ingestHandler({
      ...{ sql, objects, threads, embedder, index, pictures, children },
      limits: config.limits,
    });
    const removal: RemovalContext = {
      sql,
      objects,
      index: {
        dropDocuments: (bucketId, documentIds, signal) => index.dropDocuments(bucketId, documentIds, signal),
        expunge: (bucketId, signal) => expungeBucket({ sql, direct, tables }, bucketId, signal),
        dropBucket: (bucketId, signal) => index.dropBucket(bucketId, signal),
      },
    };
    const purge = async (signal: AbortSignal) => {
      await purgeDeleted(removal, signal);
    };
    const recovery = (everyMs: number): Chore =>
      chore('recovery of jobs', everyMs, () => recoverAndRing({ sql, doorbell, logger }, jobOperations.kinds));
    const chores = ({ everyMs = HOUSEKEEPING_MS }: { everyMs?: number } = {}): Chore[] => [
      recovery(Math.min(RECOVERY_MS, everyMs)),
      chore('housekeeping', everyMs, async (signal) => {
        await purge(signal);
        await sweepTables({ sql, direct, tables }, signal);
        await sweepGenerations(sql, objects, index, signal);
        await index.settleAbandoned(signal);
        await sweepIdempotencyKeys(sql);
        await sweepBulkResults(bulk, signal);
      }),
      chore('check of projections', CANARIES_EVERY_MS, async (signal) => {
        const isServed = (model: Model) => embedding.backends.isAvailable(model);
        await checkCanaries({ ...calibration, isServed }, { olderThanMs: CANARIES_AGE_MS, signal });
      }),
      chore('removal of orphaned files', ORPHANS_EVERY_MS, async (signal) => {
        await sweepOrphans(sql, objects, ORPHANS_AGE_MS, signal);
        await sweepBulkOrphans(sql, objects, ORPHANS_AGE_MS, signal);
      }),
    ];

    return {
      config,
      logger,
      metrics,
      sql,
      objects,
      threads,
      keyRing,
      callers,
      projections,
      calibration,
      embedding,
      embedder,
      images,
      meter,
      rates: openRateLimiter({ plans: config.plans, redis, logger }),
      doorbell,
      jobOperations,
      uploads: { sql, objects, doorbell, logger },
      search: { sql, tables, embedder, reranker, seen: new SeenIndexes() },
      metadata: {
        sql,
        doorbell,
        logger,
        queueHardDelete: (request) => queueHardDelete({ sql, doorbell, logger }, request),
      },
      reprojection: { ...calibration, direct, tables, index, projections },
      bulk,
      summarizeUsage: (account, period) => summarizeUsage(sql, meter, config.plans, account, period),
      adminKeyFile: keyFile,
      operatorActor: operatorActor(osUserName()),
      createOrganization: (input) =>
        inTransaction(sql, async (tx) => {
          const organization = await createOrganization(tx, operatorActor(osUserName()), input);
          await createDefaultBucket(tx, organization.id);
          return organization;
        }),
      operator: (organization) => callers.resolveOperator(organization),
      ingestWorker: (workerOptions = {}) => {
        const options = { leaseMs: config.workers.leaseMs, retriesMax: config.workers.retriesMax, ...workerOptions };
        return together('ingest worker', [
          new JobWorker({ sql, doorbell, logger, metrics }, handler, {
            concurrency: config.workers.ingestConcurrency,
            ...options,
          }),
          // One at a time: each writes the index of a bucket anew.
          new JobWorker({ sql, doorbell, logger, metrics }, hardDeleteHandler(removal), { concurrency: 1, ...options }),
        ]);
      },
      bulkWorker: (workerOptions = {}) =>
        new JobWorker({ sql, doorbell, logger, metrics }, bulkHandler(bulk), {
          concurrency: config.workers.embedConcurrency,
          leaseMs: config.workers.leaseMs,
          retriesMax: config.workers.retriesMax,
          ...workerOptions,
        }),
      chores,
      recovery: () => choreService('recovery', [recovery(RECOVERY_MS)], logger),
      reaper: (options = {}) => choreService('reaper', chores(options), logger),
      purge,
      checkReady: readinessCheck({ sql, objects, tables, redis }),
      close,
    };
  } catch (error) {
    await close().catch((cause) => logger.warn({ err: cause }, 'could not close what was opened'));
    throw error;
  }
}

function openRedisWhereSet(config: Config, logger: Logger, cleanups: (() => Promise<void>)[]): RedisConnection | null {
  if (!config.redisUrl) return null;
  const redis = openRedis({ url: config.redisUrl }, logger);
  cleanups.push(() => redis.close());
  return redis;
}

async function createDefaultBucket(sql: Sql, orgId: string): Promise<void> {
  await insertBucket(sql, orgId, { id: newId('bkt'), name: 'default', policy: BucketPolicy.parse({}) });
}
