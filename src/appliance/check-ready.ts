import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { probeObjects } from '../platform/objects/probe-objects.ts';
import { pingServer } from '../platform/postgres/check-server.ts';
import type { Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';

/** Time after which a silent part counts as unavailable. */
const PROBE_MS_MAX = 5_000;
/** Time to reuse a result, because the check needs no credentials, and cloud storage charges for each request. */
const FRESH_MS = 1_000;

export interface Readiness {
  readonly status: 'ok' | 'degraded' | 'down';
  /** State by part: `ok`, or a description of the fault that is safe to show to everybody. */
  readonly checks: Record<string, string>;
  /** Latency of each working part; for `objects` the total of write, read and delete. */
  readonly latency_ms: Record<string, number>;
}

interface Parts {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly chunks: { probe(): Promise<void> };
  readonly redis: RedisConnection | null;
}

/** Create the readiness check of all parts. Concurrent calls, and calls shortly after, share one result. */
export function readinessCheck(parts: Parts): () => Promise<Readiness> {
  let last: { readonly answer: Promise<Readiness>; untilMs: number } | null = null;
  return () => {
    if (last !== null && performance.now() < last.untilMs) return last.answer;
    const current = { answer: examineParts(parts), untilMs: Number.POSITIVE_INFINITY };
    last = current;
    const onSettled = () => {
      current.untilMs = performance.now() + FRESH_MS;
    };
    current.answer.then(onSettled, onSettled);
    return current.answer;
  };
}

async function examineParts({ sql, objects, chunks, redis }: Parts): Promise<Readiness> {
  const checks: Record<string, string> = {};
  const latency_ms: Record<string, number> = {};
  const check = async (name: string, probe: (signal: AbortSignal) => Promise<unknown>) => {
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    const startedMs = performance.now();
    try {
      await Promise.race([probe(signal), rejectOnAbort(signal)]);
      checks[name] = 'ok';
      latency_ms[name] = Math.round((performance.now() - startedMs) * 10) / 10;
    } catch (error) {
      checks[name] = error instanceof AppError ? error.message : signal.aborted ? 'does not answer' : 'fails';
    }
  };
  await Promise.all([
    check('database', () => pingServer(sql)),
    check('objects', (signal) => probeObjects(objects, signal)),
    check('index', () => chunks.probe()),
  ]);
  if (Object.values(checks).some((state) => state !== 'ok')) return { status: 'down', checks, latency_ms };
  if (redis === null) return { status: 'ok', checks, latency_ms };
  // Everything works without Redis. Hosts only share less state.
  checks['redis'] = redis.isReady ? 'ok' : 'is not reachable';
  return { status: redis.isReady ? 'ok' : 'degraded', checks, latency_ms };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
