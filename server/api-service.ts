import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { abandonIdempotent, beginIdempotent, finishIdempotent } from '../src/access/idempotency.ts';
import type { Appliance } from '../src/appliance/appliance.ts';
import { isAlive } from '../src/jobs/worker-registry.ts';
import type { Service } from '../src/platform/lifecycle.ts';
import { VERSION } from '../src/platform/version.ts';
import { createApp } from './app.ts';
import { BodyMemory } from './body/body-memory.ts';
import { createHttpServer, type HttpServerBounds, type Listening } from './http-server.ts';
import { cronSecretCheck } from './middleware/authorize.ts';
import { renderOpenApi } from './openapi.ts';
import type { Route } from './route.ts';
import { bucketRoutes } from './routes/buckets.ts';
import { bulkRoutes } from './routes/bulk.ts';
import { documentRoutes } from './routes/documents.ts';
import { embeddingRoutes } from './routes/embeddings.ts';
import { imageRoutes } from './routes/images.ts';
import { jobFileRoutes } from './routes/job-files.ts';
import { jobOperationRoutes } from './routes/job-operations.ts';
import { jobRoutes } from './routes/jobs.ts';
import { metadataRoutes } from './routes/metadata.ts';
import { modelRoutes } from './routes/models.ts';
import { operationRoutes } from './routes/operations.ts';
import { routingRoutes } from './routes/routing.ts';
import { searchRoutes } from './routes/search.ts';
import { usageRoutes } from './routes/usage.ts';

/** Requests in flight get this long to finish once a stop is asked for; then they are aborted, and soon cut off. */
const ABORT_MS = 9_000;
const GRACE_MS = 10_000;
/** A first request that holds an Idempotency-Key for longer counts as dead. */
const IDEMPOTENCY_LOCK_MS = 60_000;
/** Uploads are received in a directory of their process; one of a dead process that is older than this is removed. */
const ABANDONED_UPLOADS_MS = 10 * 60_000;

export interface ApiService extends Service {
  /** URL at which it listens; only once it has started. */
  readonly url: string;
}

/** Every route of the API over an appliance. */
export function apiRoutes(appliance: Appliance, purge: () => void): Route[] {
  const { sql, embedding, config } = appliance;
  const routes = [
    ...embeddingRoutes(embedding.embedder, config.embeddings),
    ...imageRoutes(
      {
        embedder: embedding.embedder,
        meter: appliance.usage.meter,
        reader: appliance.recognition.requests,
        deadlineMs: config.embeddings.imageDeadlineMs,
      },
      { threads: appliance.threads, bodyBytes: config.limits.imageBodyBytes },
    ),
    ...bulkRoutes(appliance.bulk, { bodyBytes: config.limits.bulkBodyBytes }),
    ...modelRoutes(embedding.backends),
    ...routingRoutes(embedding.routing),
    ...usageRoutes(appliance.usage.summarize),
    ...bucketRoutes(sql, purge),
    ...documentRoutes(appliance.ingest.uploads, purge),
    ...jobRoutes(sql),
    ...jobFileRoutes(sql, appliance.objects),
    ...jobOperationRoutes(appliance.jobs.operations),
    ...searchRoutes(appliance.search),
    ...metadataRoutes(appliance.metadata),
  ];
  const operations = operationRoutes({
    ready: appliance.checkReady,
    metrics: appliance.metrics,
    openapi: () => renderOpenApi([...routes, ...operations], { title: 'service', version: VERSION }),
  });
  return [...routes, ...operations];
}

/** The HTTP API as a service: listens when started, drains when stopped. */
export function apiService(
  appliance: Appliance,
  options: { host?: string; port?: number; bounds?: Partial<HttpServerBounds> } = {},
): ApiService {
  const { config, logger, metrics, sql } = appliance;
  const drain = new AbortController();
  const uploads = path.join(config.dataDir, 'uploads');
  const uploadDirectory = path.join(uploads, String(process.pid));
  let listening: Listening | null = null;
  let purging = Promise.resolve();
  const purge = () => {
    purging = purging
      .then(() => appliance.documents.purge(drain.signal))
      .catch((error) => logger.warn({ err: error }, 'deletion goes on later'));
  };
  const app = createApp({
    routes: apiRoutes(appliance, purge),
    resolveCaller: Object.assign(
      (authorization: string | undefined) => appliance.access.callers.resolve(authorization),
      {
        isCronSecret: cronSecretCheck(config.cronSecret),
      },
    ),
    idempotency: {
      begin: (request) => beginIdempotent(sql, { ...request, lockMs: IDEMPOTENCY_LOCK_MS }),
      finish: (lock, response) => finishIdempotent(sql, lock, response),
      abandon: (lock) => abandonIdempotent(sql, lock),
    },
    rates: appliance.usage.rates,
    bodyMemory: new BodyMemory(Math.max(config.limits.bodyBytes, config.limits.imageBodyBytes)),
    logger,
    metrics,
    limits: { bodyBytes: config.limits.bodyBytes, uploadBytes: config.limits.uploadBytes, uploadDirectory },
    trustProxy: config.trustProxy,
    drain: drain.signal,
  });
  return {
    name: 'api',
    get url() {
      if (!listening) throw new Error('the API does not listen yet');
      return listening.url;
    },
    async start() {
      await appliance.embedding.prepare();
      const server = createHttpServer(app.callback, { logger, ...(options.bounds ? { bounds: options.bounds } : {}) });
      listening = await server.listen({ host: options.host ?? config.host, port: options.port ?? config.port });
      logger.info({ url: listening.url }, 'API listens');
      await removeAbandonedUploads(uploads);
    },
    async stop() {
      const deadline = setTimeout(() => drain.abort(), ABORT_MS);
      await listening?.close({ graceMs: GRACE_MS });
      clearTimeout(deadline);
      drain.abort();
      await rm(uploadDirectory, { recursive: true, force: true });
      await purging;
    },
  };
}

/** Remove what killed processes were still receiving. Others may be serving from the same data directory. */
async function removeAbandonedUploads(uploads: string): Promise<void> {
  for (const pid of await readdir(uploads).catch(() => [])) {
    const directory = path.join(uploads, pid);
    const age = Date.now() - ((await stat(directory).catch(() => null)) ?? { mtimeMs: Date.now() }).mtimeMs;
    if (age > ABANDONED_UPLOADS_MS && !isAlive(Number(pid))) await rm(directory, { recursive: true, force: true });
  }
}
