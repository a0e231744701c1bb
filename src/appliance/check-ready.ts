import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { probeObjects } from '../platform/objects/probe-objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';

/** A part that does not answer by then is out of reach. */
const PROBE_MS_MAX = 5_000;
/** Anybody may ask, and storage in a cloud is paid by the request. */
const FRESH_MS = 1_000;

export interface Readiness {
  readonly status: 'ok' | 'degraded' | 'down';
  /** By part: `ok`, or what is wrong in words that anybody may read. */
  readonly checks: Record<string, string>;
  /** How long each part took that works. Of `objects`: write, read and delete together. */
  readonly latency_ms: Record<string, number>;
}

interface Parts {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly tables: { probe(): Promise<void> };
  readonly redis: RedisConnection | null;
}

/** What works and what does not, part by part. Those who ask at the same time, or a moment later, get one answer. */
export function readinessCheck(parts: Parts): () => Promise<Readiness> {
  let last: { readonly answer: Promise<Readiness>; untilMs: number } | null = null;
  return () => {
    if (last !== null && performance.now() < last.untilMs) return last.answer;
    const asked = { answer: examineParts(parts), untilMs: Number.POSITIVE_INFINITY };
    last = asked;
    const settle = () => {
      asked.untilMs = performance.now() + FRESH_MS;
    };
    asked.answer.then(settle, settle);
    return asked.answer;
  };
}

async function examineParts({ sql, objects, tables, redis }: Parts): Promise<Readiness> {
  const checks: Record<string, string> = {};
  const latency_ms: Record<string, number> = {};
  const check = async (name: string, probe: (signal: AbortSignal) => Promise<unknown>) => {
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    const beganMs = performance.now();
    try {
      await Promise.race([probe(signal), outOfTime(signal)]);
      checks[name] = 'ok';
      latency_ms[name] = Math.round((performance.now() - beganMs) * 10) / 10;
    } catch (error) {
      checks[name] = error instanceof AppError ? error.message : signal.aborted ? 'does not answer' : 'fails';
    }
  };
  await Promise.all([
    check('database', () => sql`SELECT 1`),
    check('objects', (signal) => probeObjects(objects, signal)),
    check('index', () => tables.probe()),
  ]);
  if (Object.values(checks).some((state) => state !== 'ok')) return { status: 'down', checks, latency_ms };
  if (redis === null) return { status: 'ok', checks, latency_ms };
  // Everything works without Redis, only less of it together.
  checks['redis'] = redis.isReady ? 'ok' : 'out of reach';
  return { status: redis.isReady ? 'ok' : 'degraded', checks, latency_ms };
}

function outOfTime(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
