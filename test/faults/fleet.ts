import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from '../../src/platform/logger.ts';
import type { TestAppliance } from '../support/appliance.ts';
import type { FakeUpstreamOptions } from '../support/fake-upstream.ts';
import { CANARY_KEY, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

/** Model with little work for the fake upstream, which runs in the test's process. */
export const TINY = { id: 'vendor-a/tiny', vendor: 'vendor-a', dimensions: 16, max_tokens: 8_000 };
export const LEASE_MS = 5_000;

/** Installation with its API in the test's process and any number of separate processes of the service. */
export interface Fleet extends TestGateway {
  /** Start `service …` on the installation. */
  spawn(args: readonly string[], options?: SpawnOptions): Promise<ServiceProcess>;
  /** Return the exit and stderr of each process that ended without a signal of the test. */
  unexpectedExits(): string[];
}

export interface SpawnOptions {
  /** Address of PostgreSQL, if it is not the one of the test. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  /** One of `UPSTREAM_KEYS`, which identifies the process in calls to the upstream. */
  readonly upstreamKey?: string;
}

export const UPSTREAM_KEYS = [CANARY_KEY, ...Array.from({ length: 10 }, (_, number) => `process-${number}`)];

export interface FleetOptions {
  readonly settings?: Record<string, unknown>;
  readonly upstream?: FakeUpstreamOptions;
  /** Timeout of a call to the upstream. */
  readonly timeoutSeconds?: number;
  /** Database and data directory to use instead of new ones on the server of the run. */
  readonly storage?: Pick<TestAppliance, 'dataDir' | 'databaseUrl' | 'connection'>;
  /** Logger of the API in the test's process. Default: errors on stderr. */
  readonly logger?: Logger;
}

/** Open an installation with the shortest allowed lease and one small model. */
export async function openFleet(options: FleetOptions = {}): Promise<Fleet> {
  const workers = { lease_seconds: LEASE_MS / 1000, embed_concurrency: 2, ingest_concurrency: 4 };
  const common = { models: [TINY], workers, ...options.settings };
  const gateway = await openTestGateway(
    common,
    { dimensions: { tiny: TINY.dimensions }, apiKeys: UPSTREAM_KEYS, ...options.upstream },
    {
      ...(options.storage ? { beside: options.storage as TestAppliance } : {}),
      ...(options.logger ? { logger: options.logger } : {}),
    },
  );
  const provider = {
    protocol: 'openai',
    base_url: gateway.upstream.baseUrl('openai'),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the settings replace it by an environment variable
    api_key: '${UPSTREAM_KEY}',
    timeout_seconds: options.timeoutSeconds ?? 20,
    concurrency_max: 64,
  };
  const file = { ...common, projections: { auto: 'off' }, providers: { 'vendor-a': provider }, log_level: 'warn' };
  writeFileSync(path.join(gateway.dataDir, 'service.yaml'), JSON.stringify(file));
  const children: ServiceProcess[] = [];
  const starting = new Set<Promise<unknown>>();
  let isClosed = false;
  const signalled = new Set<ServiceProcess>();
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
      const noteSignal = (name: NodeJS.Signals) => {
        if (name === 'SIGKILL' || name === 'SIGTERM') signalled.add(child);
      };
      return {
        ...child,
        signal(name) {
          noteSignal(name);
          child.signal(name);
        },
        end(name) {
          noteSignal(name);
          return child.end(name);
        },
      };
    },
    unexpectedExits: () =>
      children
        .filter((child) => !signalled.has(child) && child.ended() !== null)
        .map((child) => `${JSON.stringify(child.ended())} ${child.stderr()}`),
    async close() {
      // A failed test may still be starting processes.
      isClosed = true;
      await Promise.allSettled(starting);
      // A paused process must be resumed before it can end.
      for (const child of children) child.signal('SIGCONT');
      await Promise.all(children.map((child) => child.end('SIGKILL')));
      await gateway.close();
    },
  };
}
