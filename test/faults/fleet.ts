import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from '../../src/platform/logger.ts';
import type { TestAppliance } from '../support/appliance.ts';
import type { FakeUpstreamOptions } from '../support/fake-upstream.ts';
import { CANARY_KEY, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

/** Little work for the fake upstream, which shares the test's process. */
export const TINY = { id: 'vendor-a/tiny', vendor: 'vendor-a', dimensions: 16, max_tokens: 8_000 };
export const LEASE_MS = 5_000;

/** An installation with its API in the test's process, and as many processes of the service beside it as wanted. */
export interface Fleet extends TestGateway {
  /** `service …` on the installation. */
  spawn(args: readonly string[], options?: SpawnOptions): Promise<ServiceProcess>;
  /** Processes that were not told to end and have ended, with what they said. */
  casualties(): string[];
}

export interface SpawnOptions {
  /** By another way than the test's own. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  /** Of `UPSTREAM_KEYS`: tells whose call it is. */
  readonly upstreamKey?: string;
}

export const UPSTREAM_KEYS = [CANARY_KEY, ...Array.from({ length: 10 }, (_, lane) => `lane-${lane}`)];

export interface FleetOptions {
  readonly settings?: Record<string, unknown>;
  readonly upstream?: FakeUpstreamOptions;
  /** How long a call to the upstream may take. */
  readonly timeoutSeconds?: number;
  /** A database and a data directory of the test's own, instead of new ones on the run's server. */
  readonly place?: Pick<TestAppliance, 'dataDir' | 'databaseUrl' | 'connection'>;
  /** What the API in the test's process logs; errors by default. */
  readonly logger?: Logger;
}

/** With the shortest lease there is, and one small model. */
export async function openFleet(options: FleetOptions = {}): Promise<Fleet> {
  const workers = { lease_seconds: LEASE_MS / 1000, embed_concurrency: 2, ingest_concurrency: 4 };
  const common = { models: [TINY], workers, ...options.settings };
  const gateway = await openTestGateway(
    common,
    { dimensions: { tiny: TINY.dimensions }, apiKeys: UPSTREAM_KEYS, ...options.upstream },
    {
      ...(options.place ? { beside: options.place as TestAppliance } : {}),
      ...(options.logger ? { logger: options.logger } : {}),
    },
  );
  const provider = {
    protocol: 'openai',
    base_url: gateway.upstream.baseUrl('openai'),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the settings put an environment variable there
    api_key: '${UPSTREAM_KEY}',
    timeout_seconds: options.timeoutSeconds ?? 20,
    concurrency_max: 64,
  };
  const file = { ...common, providers: { 'vendor-a': provider }, log_level: 'warn' };
  writeFileSync(path.join(gateway.dataDir, 'service.yaml'), JSON.stringify(file));
  const children: ServiceProcess[] = [];
  const starting = new Set<Promise<unknown>>();
  let isClosed = false;
  const killed = new Set<ServiceProcess>();
  return {
    ...gateway,
    async spawn(args, { databaseUrl = gateway.databaseUrl, redisUrl = '', upstreamKey = CANARY_KEY } = {}) {
      const env = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, UPSTREAM_KEY: upstreamKey };
      if (isClosed) throw new Error('the installation is closed');
      const start = startServiceProcess([...args, '--data-dir', gateway.dataDir], env).then((child) => {
        children.push(child);
        return child;
      });
      starting.add(start);
      const child = await start.finally(() => starting.delete(start));
      const asked = (name: NodeJS.Signals) => {
        if (name === 'SIGKILL' || name === 'SIGTERM') killed.add(child);
      };
      return {
        ...child,
        signal(name) {
          asked(name);
          child.signal(name);
        },
        end(name) {
          asked(name);
          return child.end(name);
        },
      };
    },
    casualties: () =>
      children
        .filter((child) => !killed.has(child) && child.ended() !== null)
        .map((child) => `${JSON.stringify(child.ended())} ${child.stderr()}`),
    async close() {
      // A test that failed may be starting some still.
      isClosed = true;
      await Promise.allSettled(starting);
      // A paused process would not hear of its end.
      for (const child of children) child.signal('SIGCONT');
      await Promise.all(children.map((child) => child.end('SIGKILL')));
      await gateway.close();
    },
  };
}
