import { readdir, rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { FailedLogins } from '../src/access/failed-logins.ts';
import { MovingOrganizations } from '../src/access/moving-organizations.ts';
import type { Appliance } from '../src/appliance/appliance.ts';
import { resolveKeyLimits } from '../src/appliance/key-limits.ts';
import { LiveEvents } from '../src/appliance/live/live-events.ts';
import { listUsageByBucket } from '../src/appliance/overview/usage-by-bucket-store.ts';
import { recordServer } from '../src/appliance/running-servers.ts';
import { rehearsalContext } from '../src/ingest/rehearsal/rehearse-switch.ts';
import { Installations } from '../src/local-models/install/installations.ts';
import { type OperatorSocket, openOperatorSocket } from '../src/operations/operator-socket.ts';
import { awaitLater } from '../src/platform/await-later.ts';
import { FairGate } from '../src/platform/fair-gate.ts';
import type { Service } from '../src/platform/lifecycle.ts';
import { isPidInUse } from '../src/platform/pid-in-use.ts';
import { RefusalBrake } from '../src/platform/refusal-brake.ts';
import { VERSION } from '../src/platform/version.ts';
import { createApp } from './app.ts';
import { BodyMemory } from './body/body-memory.ts';
import type { HttpServerBounds, Listening } from './http-server.ts';
import { InstallationGauge } from './installation-load.ts';
import { reportLimit } from './limited-queries.ts';
import { listenApi } from './listen-api.ts';
import { cronSecretCheck } from './middleware/authorize.ts';
import { renderOpenApi } from './openapi/render-openapi.ts';
import { ReplyMemory } from './reply-memory.ts';
import { requestOrigin } from './request-origin.ts';
import type { Route } from './route.ts';
import { accountRoutes } from './routes/account.ts';
import { accountSignInRoutes } from './routes/account-sign-in.ts';
import { answerRoutes } from './routes/answers.ts';
import { assistantRoutes } from './routes/assistants.ts';
import { batchRoutes } from './routes/batches.ts';
import { bucketMapRoutes } from './routes/bucket-map.ts';
import { bucketRoutes } from './routes/buckets.ts';
import { bulkRoutes } from './routes/bulk.ts';
import { calibrationRoutes } from './routes/calibrations.ts';
import { channelRecordRoutes } from './routes/channel-records.ts';
import { channelRoutes } from './routes/channels.ts';
import { chatCompletionRoutes } from './routes/chat-completions.ts';
import { consoleRoutes } from './routes/console.ts';
import { demoRoutes } from './routes/demo.ts';
import { documentPageRoutes } from './routes/document-page.ts';
import { documentReadingRoutes } from './routes/document-reading.ts';
import { documentTextRoutes } from './routes/document-text.ts';
import { documentRoutes } from './routes/documents.ts';
import { embeddingRoutes } from './routes/embeddings.ts';
import { eventRoutes } from './routes/events.ts';
import { fileRoutes } from './routes/files.ts';
import { groupRoutes } from './routes/groups.ts';
import { helpRoutes } from './routes/help.ts';
import { homeRoutes } from './routes/home.ts';
import { imageRoutes } from './routes/images.ts';
import { installationRoutes } from './routes/installation.ts';
import { jobFileRoutes } from './routes/job-files.ts';
import { jobOperationRoutes } from './routes/job-operations.ts';
import { jobRoutes } from './routes/jobs.ts';
import { keyRoutes } from './routes/keys.ts';
import { localModelRoutes } from './routes/local-models.ts';
import { meRoutes } from './routes/me.ts';
import { memoryRoutes } from './routes/memory.ts';
import { metadataRoutes } from './routes/metadata.ts';
import { modelRoutes } from './routes/models.ts';
import { oauthClientRoutes } from './routes/oauth-clients.ts';
import { oauthConsentRoutes } from './routes/oauth-consent.ts';
import { oidcSignInRoutes } from './routes/oidc-sign-in.ts';
import { operationRoutes } from './routes/operations.ts';
import { organizationRoutes } from './routes/organizations.ts';
import { overviewRoutes } from './routes/overview.ts';
import { referenceRoutes } from './routes/reference.ts';
import { rehearsalRoutes } from './routes/rehearsals.ts';
import { rerankRoutes } from './routes/rerank.ts';
import { routingRoutes } from './routes/routing.ts';
import { scimRoutes } from './routes/scim.ts';
import { searchRoutes } from './routes/search.ts';
import { searchLogRoutes } from './routes/search-log.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { synonymRoutes } from './routes/synonyms.ts';
import { usageRoutes } from './routes/usage.ts';
import { userRoutes } from './routes/users.ts';
import { vectorImportRoutes } from './routes/vector-imports.ts';
import { vectorStoreFileRoutes } from './routes/vector-store-files.ts';
import { vectorStoreRoutes } from './routes/vector-stores.ts';
import { vendorRoutes } from './routes/vendors.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { workflowTriggerRoutes } from './routes/workflow-triggers.ts';
import { workflowRoutes } from './routes/workflows.ts';
import { storedIdempotency } from './stored-idempotency.ts';
import { trustedProxies } from './trusted-proxies.ts';

/** Time for running requests to finish after a stop request, before they are aborted. */
const ABORT_MS = 9_000;
/** Time after which remaining open connections are destroyed. */
const GRACE_MS = 10_000;
/**
 * Time to keep idle connections open after a stop request, if another process takes over the socket. Each connection
 * gets one more response, which closes it, so that a busy client's request never hits a closed connection.
 */
const TAKEOVER_IDLE_MS = 1_500;
/** Age at which a dead process's upload directory is removed. Each process has its own upload directory. */
const ABANDONED_UPLOADS_MS = 10 * 60_000;

/**
 * Limits on concurrent searches. They share the event loop, the cores and PostgreSQL, so each delays all others by
 * milliseconds. Concurrently searching organizations share one place per core. More concurrent searches wouldn't be
 * faster, but would delay those of others.
 */
const SEARCHES = {
  runningMax: 64,
  runningOfOneMax: 32,
  waitingOfOneMax: 1_000,
  shared: { places: Math.max(2, availableParallelism()), activeMs: 5_000 },
};

/** Limits on concurrent workflow runs. Each holds the outputs of its blocks in memory, for up to 5 minutes. */
const RUNS = { runningMax: 16, runningOfOneMax: 4, waitingOfOneMax: 100 };

/**
 * Limits on concurrent rendering of large vector responses. On one thread, sequential rendering is as fast, and only
 * one response takes memory.
 */
const RENDERS = { runningMax: 2, runningOfOneMax: 1, waitingOfOneMax: 1_000 };

/** Limits on bucket maps being computed. Each takes a thread of the pool for 50 ms, at most 200 ms. */
const MAPS = { runningMax: 2, runningOfOneMax: 1, waitingOfOneMax: 4 };

/** Limits on concurrent rehearsals. Each holds up to 40 MB of vectors, mostly while it waits for a model. */
const REHEARSALS = { runningMax: 4, runningOfOneMax: 1, waitingOfOneMax: 4 };

/**
 * Operations that applications can offer to language models, with a description for the model. They are read-only and
 * need only the scope `search`.
 */
const TOOL_OPERATIONS: ReadonlyMap<string, string> = new Map([
  [
    'searchBucket',
    'Find the passages of one bucket that answer a question. Only the bucket and the query are needed. Each result names its document, page and address.',
  ],
  [
    'searchBuckets',
    'Find the passages of several buckets that answer a question, the best first. Only the buckets and the query are needed.',
  ],
  ['listBuckets', 'List the buckets: sets of documents that can be searched by name.'],
  ['getDocumentText', 'Read the text of a document that a search found, from a character on.'],
]);

/** Limits on an organization's bodies that are refused, without delay, before they have arrived. */
const UNREAD_BODIES = { burst: 20, perSecond: 10 };

export interface ApiService extends Service {
  /** URL at which the API listens, known once the service has started. */
  readonly url: string;
}

/** List every route of the API of an appliance. */
export function apiRoutes(
  appliance: Appliance,
  purge: () => void,
  live: LiveEvents = new LiveEvents(appliance),
  installations: Installations = new Installations(appliance),
): Route[] {
  const { sql, reads, embedding, config, projections } = appliance;
  const shared = { reads, queryShares: appliance.queryShares };
  const renders = new FairGate(RENDERS);
  const routes = [
    ...embeddingRoutes(embedding.embedder, { ...config.embeddings, bodyBytes: config.limits.bodyBytes, renders }),
    ...imageRoutes(
      {
        embedder: embedding.embedder,
        meter: appliance.usage.meter,
        reader: appliance.recognition.requests,
        deadlineMs: config.embeddings.imageDeadlineMs,
      },
      { threads: appliance.threads, bodyBytes: config.limits.imageBodyBytes, renders },
    ),
    ...bulkRoutes(appliance.bulk, { bodyBytes: config.limits.bulkBodyBytes }),
    ...fileRoutes(appliance.files, purge),
    ...batchRoutes(appliance.batches),
    ...modelRoutes({
      sql,
      projections,
      backends: embedding.backends,
      rerankers: appliance.rerankers.list,
      answers: appliance.answers,
    }),
    ...calibrationRoutes({ sql, backends: embedding.backends, isOn: config.projections.autoCalibration.enabled }),
    ...rerankRoutes(appliance.rerankers, { bodyBytes: config.limits.bodyBytes }),
    ...vendorRoutes(embedding, config.providers),
    ...localModelRoutes(appliance, installations),
    ...routingRoutes(sql, embedding),
    ...usageRoutes({
      ...appliance.usage,
      async listByBucket(caller, period, signal) {
        await appliance.insight.log.flush();
        return reads.current(reportLimit(signal), (of) => listUsageByBucket(of, caller, period));
      },
    }),
    ...meRoutes(sql),
    ...signInRoutes(appliance),
    ...callerRoutes(appliance),
    ...bucketRoutes(sql, { config: appliance.config, reembed: appliance.ingest.reembed }, purge),
    ...rehearsalRoutes(rehearsalContext(appliance)),
    ...vectorImportRoutes(appliance.ingest.imports, shared),
    ...synonymRoutes(sql),
    ...searchLogRoutes({ sql, settings: config.search.log, log: appliance.insight.log }),
    ...bucketMapRoutes({ sql, chunks: appliance.search.chunks, threads: appliance.threads }),
    ...documentRoutes(appliance.ingest.uploads, { ...shared, threads: appliance.threads, purge }),
    ...demoRoutes(appliance.ingest.uploads, purge),
    ...vectorStoreRoutes(appliance.vectorStores, purge),
    ...vectorStoreFileRoutes(appliance.vectorStores, { ...shared, purge }),
    ...documentTextRoutes(appliance.ingest.reading, shared.queryShares),
    ...documentReadingRoutes(appliance.ingest.reading, {
      reads,
      links: appliance.search.links,
      queryShares: shared.queryShares,
      log: appliance.insight.log,
    }),
    ...documentPageRoutes(appliance.ingest.reading, { ...shared, keyRing: appliance.keyRing }),
    ...jobRoutes(reads),
    ...jobFileRoutes(sql, appliance.objects),
    ...jobOperationRoutes(appliance.jobs.operations),
    ...answeringRoutes(appliance),
    ...metadataRoutes(appliance.metadata),
    ...channelRoutes(appliance.channels, appliance.threads),
    ...channelRecordRoutes(sql),
    ...webhookRoutes(appliance.webhooks),
    ...workflowRoutes(appliance.workflows),
    ...workflowTriggerRoutes(appliance.workflows, appliance.threads),
    ...memoryRoutes(appliance.memory, purge),
    ...eventRoutes(live),
    ...overviewRoutes(sql, new InstallationGauge(appliance), appliance.insight.log),
    ...consoleRoutes(),
    ...referenceRoutes(),
    ...helpRoutes(),
    ...installationRoutes(config),
    ...homeRoutes(),
  ];
  const operations = operationRoutes({
    ready: appliance.checkReady,
    metrics: appliance.metrics,
    openapi: () => renderOpenApi([...routes, ...operations], { title: 'service', version: VERSION }),
    tools: () =>
      renderOpenApi(
        routes.filter(({ operationId }) => TOOL_OPERATIONS.has(operationId)),
        { title: 'service', version: VERSION },
        TOOL_OPERATIONS,
      ),
  });
  return [...routes, ...operations];
}

/** List the routes for sign-in and account management. */
function signInRoutes({ sql, access }: Appliance): Route[] {
  return [
    ...sessionRoutes(sql, access),
    ...accountRoutes(sql, access),
    ...accountSignInRoutes(sql, access),
    ...oidcSignInRoutes(sql, access),
  ];
}

/** List the routes for callers: clients, keys, people, groups and organizations. */
function callerRoutes(appliance: Appliance): Route[] {
  const { sql, access, keyRing, usage } = appliance;
  return [
    ...oauthClientRoutes(access.oauth),
    ...oauthConsentRoutes(access),
    ...keyRoutes({
      sql,
      keyRing,
      usage,
      resolveLimits: (caller, limits) => resolveKeyLimits(appliance, caller, limits),
    }),
    ...userRoutes(sql, access),
    ...groupRoutes(sql),
    ...scimRoutes(sql),
    ...organizationRoutes(sql, access),
  ];
}

/** List the routes that find passages or answer from them. */
function answeringRoutes({ sql, search, insight, answers }: Appliance): Route[] {
  return [
    ...searchRoutes(search),
    ...answerRoutes(answers, insight.log),
    ...chatCompletionRoutes(answers),
    ...assistantRoutes(sql),
  ];
}

/**
 * Create the service of the HTTP API, which listens when started and drains when stopped.
 * @param options.socket file descriptor of a supervisor's listening socket, in place of host and port
 */
export function apiService(
  appliance: Appliance,
  options: { host?: string; port?: number; bounds?: Partial<HttpServerBounds>; socket?: number | null } = {},
): ApiService {
  const socket = options.socket ?? null;
  const { config, logger, metrics, sql } = appliance;
  const drain = new AbortController();
  const uploads = path.join(config.dataDir, 'uploads');
  const uploadDirectory = path.join(uploads, String(process.pid));
  let listening: Listening | null = null;
  let purging = Promise.resolve();
  let operatorSocket: OperatorSocket | null = null;
  let forgetServer = async () => {};
  const purge = () => {
    purging = purging
      .then(() => appliance.documents.purge(drain.signal))
      .catch((error) => logger.warn({ err: error }, 'removal of deleted data failed and will be tried again'));
  };
  const live = new LiveEvents(appliance);
  const laterReplies = appliance.channels.laterReplies();
  const installations = new Installations(appliance);
  const proxies = trustedProxies(config.trustProxy);
  const app = createApp({
    routes: apiRoutes(appliance, purge, live, installations),
    resolveCaller: Object.assign(
      (authorization: string | undefined) => appliance.access.callers.resolve(authorization),
      {
        isCronSecret: cronSecretCheck(config.cronSecret),
        sessions: appliance.access.sessions,
      },
    ),
    moving: new MovingOrganizations(sql),
    failedLogins: new FailedLogins({ perMinute: config.limits.failedLoginsPerMinute }),
    idempotency: storedIdempotency(sql, appliance.keyRing),
    rates: appliance.usage.rates,
    threads: appliance.threads,
    capacity: {
      queries: appliance.queryShares,
      search: new FairGate(SEARCHES),
      runs: new FairGate(RUNS),
      maps: new FairGate(MAPS),
      rehearsals: new FairGate(REHEARSALS),
    },
    bodyMemory: new BodyMemory(Math.max(config.limits.bodyBytes, config.limits.imageBodyBytes)),
    replyMemory: new ReplyMemory(),
    unreadBodies: new RefusalBrake(UNREAD_BODIES),
    logger,
    metrics,
    tracing: appliance.tracing,
    limits: { bodyBytes: config.limits.bodyBytes, uploadBytes: config.limits.uploadBytes, uploadDirectory },
    proxies,
    corsOrigins: config.server.corsOrigins,
    originOf: requestOrigin({ baseUrl: config.baseUrl, proxies, listening: () => listening?.url ?? null }),
    drain: drain.signal,
  });
  return {
    name: 'api',
    get url() {
      if (!listening) throw new Error('the API does not listen yet');
      return listening.url;
    },
    async start(signal) {
      await appliance.embedding.prepare();
      appliance.reads.watch();
      const { host = config.host, port = config.port, bounds } = options;
      listening = await listenApi(app.callback, appliance, { host, port, socket, bounds, signal });
      operatorSocket = await openOperatorSocket(appliance);
      forgetServer = await recordServer(config.dataDir, { url: listening.url, operator: operatorSocket.access });
      await laterReplies.start(signal);
      logger.info({ url: listening.url }, 'the API is listening');
      for (const warning of config.warnings) logger.warn(warning);
      await removeAbandonedUploads(uploads);
    },
    async stop() {
      const deadline = setTimeout(() => drain.abort(), ABORT_MS);
      live.close();
      await forgetServer();
      const commands = awaitLater(operatorSocket?.close(drain.signal) ?? Promise.resolve());
      const replies = awaitLater(laterReplies.stop());
      await listening?.close({ graceMs: GRACE_MS, idleMs: socket === null ? 0 : TAKEOVER_IDLE_MS });
      await replies;
      await commands;
      clearTimeout(deadline);
      drain.abort();
      await installations.close();
      await rm(uploadDirectory, { recursive: true, force: true });
      await purging;
    },
  };
}

/** Remove unfinished uploads of killed processes. Live processes may use the same data directory. */
async function removeAbandonedUploads(uploads: string): Promise<void> {
  for (const pid of await readdir(uploads).catch(() => [])) {
    const directory = path.join(uploads, pid);
    const age = Date.now() - ((await stat(directory).catch(() => null)) ?? { mtimeMs: Date.now() }).mtimeMs;
    if (age > ABANDONED_UPLOADS_MS && !isPidInUse(Number(pid))) await rm(directory, { recursive: true, force: true });
  }
}
