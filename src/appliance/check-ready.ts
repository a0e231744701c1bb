import { findTruncated } from '../index/lance/find-truncated.ts';
import { runWithin } from '../platform/deadline.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { probeObjects } from '../platform/objects/probe-objects.ts';
import { pingServer } from '../platform/postgres/check-server.ts';
import type { Reads, Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';

/** Time after which a silent part counts as unavailable. */
const PROBE_MS_MAX = 5_000;
/** Time to reuse a result: the check needs no credentials, and cloud storage charges for each request. */
const FRESH_MS = 1_000;

export interface Readiness {
  readonly status: 'ok' | 'degraded' | 'down';
  /** State by part: `ok`, or a description of the fault that is safe to publish. */
  readonly checks: Record<string, string>;
  /** Latency of each working part; for `objects` the total of write, read and delete. */
  readonly latency_ms: Record<string, number>;
}

interface Parts {
  readonly sql: Sql;
  readonly reads: Pick<Reads, 'replica'>;
  readonly objects: Objects;
  readonly chunks: { probe(): Promise<void> };
  readonly milvus: { probe(): Promise<void> } | null;
  readonly redis: RedisConnection | null;
  /** Directory of an index on disk, or null. */
  readonly indexDirectory: string | null;
}

/** Number of truncated files at which to stop counting: one already proves that the index is damaged. */
const TRUNCATED_MAX = 1;
/** Interval for checking the index files, which reads the end of each file. */
const FILES_MS = 60_000;

/** Create a function that returns the number of truncated index files, and recounts them in the background. */
function countTruncated(directory: string | null): () => number {
  let count = 0;
  let nextMs = 0;
  return () => {
    if (directory === null || performance.now() < nextMs) return count;
    nextMs = Number.POSITIVE_INFINITY;
    const startedMs = performance.now();
    findTruncated(directory, TRUNCATED_MAX)
      .then(
        (files) => {
          count = files.length;
        },
        // The check of the index itself reports a failing disk.
        () => undefined,
      )
      .finally(() => {
        // Spend at most a tenth of the time on examining a large index.
        nextMs = performance.now() + Math.max(FILES_MS, 9 * (performance.now() - startedMs));
      });
    return count;
  };
}

/** Create the readiness check of all parts. Concurrent and closely following calls share one result. */
export function readinessCheck(parts: Parts): () => Promise<Readiness> {
  const truncated = countTruncated(parts.indexDirectory);
  let last: { readonly answer: Promise<Readiness>; untilMs: number } | null = null;
  return () => {
    if (last !== null && performance.now() < last.untilMs) return last.answer;
    const current = { answer: examineParts(parts, truncated()), untilMs: Number.POSITIVE_INFINITY };
    last = current;
    const onSettled = () => {
      current.untilMs = performance.now() + FRESH_MS;
    };
    current.answer.then(onSettled, onSettled);
    return current.answer;
  };
}

async function examineParts(parts: Parts, truncated: number): Promise<Readiness> {
  const { sql, reads, objects, chunks, milvus, redis } = parts;
  const checks: Record<string, string> = {};
  const latency_ms: Record<string, number> = {};
  const check = async (name: string, probe: (signal: AbortSignal) => Promise<unknown>, into = checks) => {
    const startedMs = performance.now();
    try {
      await runWithin(PROBE_MS_MAX, undefined, probe);
      into[name] = 'ok';
      latency_ms[name] = Math.round((performance.now() - startedMs) * 10) / 10;
    } catch (error) {
      const isLate = (error as Error).name === 'TimeoutError';
      into[name] = error instanceof AppError ? error.message : isLate ? 'does not answer' : 'fails';
    }
  };
  const others: Record<string, string> = {};
  await Promise.all([
    milvus && check('milvus', () => milvus.probe(), others),
    check('database', () => pingServer(sql)),
    check('objects', (signal) => probeObjects(objects, signal)),
    check('index', () => chunks.probe()),
  ]);
  if (Object.values(checks).some((state) => state !== 'ok')) return { status: 'down', checks, latency_ms };
  // Buckets on LanceDB work without Milvus.
  Object.assign(checks, others);
  // Everything works without Redis. Hosts only share less state.
  if (redis !== null) checks['redis'] = redis.isReady ? 'ok' : 'is not reachable';
  // Without the replica, the primary answers.
  if (reads.replica !== null) checks['replica'] = reads.replica.state;
  // The other buckets work.
  if (truncated > 0)
    checks['index_files'] = 'some index files are truncated; run "service doctor" to see their buckets';
  const isDegraded = Object.values(checks).some((state) => state !== 'ok');
  return { status: isDegraded ? 'degraded' : 'ok', checks, latency_ms };
}
