/**
 * Process that serves the routes of documents without stores behind them, so that only requests which are refused
 * before the handler can be sent. It prints its port.
 */
import { createApp } from '../../server/app.ts';
import { BodyMemory } from '../../server/body/body-memory.ts';
import { createHttpServer } from '../../server/http-server.ts';
import { ReplyMemory } from '../../server/reply-memory.ts';
import { documentRoutes } from '../../server/routes/documents.ts';
import { trustedProxies } from '../../server/trusted-proxies.ts';
import { FailedLogins } from '../../src/access/failed-logins.ts';
import type { UploadContext } from '../../src/ingest/upload.ts';
import { FairGate } from '../../src/platform/fair-gate.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import type { Reads } from '../../src/platform/postgres.ts';
import { RefusalBrake } from '../../src/platform/refusal-brake.ts';
import { openThreads } from '../../src/platform/threads.ts';

const MIB = 1024 * 1024;
const logger = openLogger('silent');
const threads = openThreads();
const gate = new FairGate({ runningMax: 10, runningOfOneMax: 10, waitingOfOneMax: 10 });
const app = createApp({
  routes: documentRoutes({} as UploadContext, {
    reads: {} as Reads,
    threads,
    queryShares: gate,
    purge: () => undefined,
  }),
  resolveCaller: async () => ({
    ...{ kind: 'api_key', actor: 'key:test', orgId: 'org_test', plan: 'free', userId: null, role: null },
    ...{ department: null, scopes: new Set(['documents:write']), authLevel: 1 },
  }),
  idempotency: {
    begin: () => Promise.reject(new Error('not asked')),
    extendEveryMs: 60_000,
    extend: async () => true,
    finish: async () => undefined,
    showsHidden: async () => false,
    abandon: async () => undefined,
  },
  rates: { take: () => null },
  bodyMemory: new BodyMemory(280 * MIB),
  replyMemory: new ReplyMemory(),
  threads,
  moving: { requireStaying: async () => undefined },
  failedLogins: new FailedLogins({ perMinute: 1e6 }),
  unreadBodies: new RefusalBrake({ burst: 1e6, perSecond: 1e6 }),
  capacity: { queries: gate, search: gate, runs: gate, maps: gate, rehearsals: gate },
  logger,
  metrics: openMetrics(),
  limits: { bodyBytes: 16 * MIB, uploadBytes: 512 * MIB, uploadDirectory: '/nonexistent' },
  proxies: trustedProxies([]),
});
const { port } = await createHttpServer(app.callback, { logger }).listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${port}\n`);
