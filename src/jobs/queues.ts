import type { Sql } from '../platform/postgres.ts';
import {
  type FinishedSecond,
  type QueueDepth,
  readFinishedSeconds,
  readQueueDepths,
  readWorkerLoads,
  type WorkerLoad,
} from './queue-store.ts';

/** Seconds of throughput history to keep. */
const HISTORY_SECONDS = 60;
/** Maximum time from a job's completion time until its transaction ends and shows the job as finished. */
const SETTLE_SECONDS = 5;
const RATE_SECONDS = 10;

/** Jobs and workers of an installation. Times are from the database clock. */
export interface QueueLoad {
  readonly at: string;
  readonly queues: readonly QueueDepth[];
  readonly workers: readonly WorkerLoad[];
  readonly throughput: {
    /** Jobs that became ready, failed or cancelled per second, over the last 10 seconds. */
    readonly finished_per_second: number;
    readonly failed_per_second: number;
    /** Jobs finished in each of the last 60 whole seconds, newest last. */
    readonly history: readonly number[];
  };
}

/**
 * Open a gauge of the queues, for about one reading per second.
 * @returns function that reads it and throws the errors of its queries
 */
export function openQueueGauge(): (sql: Sql) => Promise<QueueLoad> {
  const seconds = new Map<number, FinishedSecond>();
  let lastReadMs: number | null = null;
  return (sql) =>
    sql.begin('isolation level repeatable read read only', async (tx) => {
      const queues = await readQueueDepths(tx);
      const workers = await readWorkerLoads(tx);
      const readMs = performance.now();
      const secondsToRead =
        lastReadMs === null ? HISTORY_SECONDS : Math.ceil((readMs - lastReadMs) / 1000) + SETTLE_SECONDS;
      const { at, rows } = await readFinishedSeconds(tx, Math.min(HISTORY_SECONDS, secondsToRead));
      const now = Math.floor(at.getTime() / 1000);
      for (const row of rows) seconds.set(row.second, row);
      for (const second of seconds.keys()) if (second < now - HISTORY_SECONDS) seconds.delete(second);
      lastReadMs = readMs;
      // Omit the current second, which isn't over.
      const history = Array.from({ length: HISTORY_SECONDS }, (_, i) => seconds.get(now - HISTORY_SECONDS + i));
      const rate = (count: (row: FinishedSecond) => number) =>
        history.slice(-RATE_SECONDS).reduce((sum, row) => sum + (row ? count(row) : 0), 0) / RATE_SECONDS;
      return {
        at: at.toISOString(),
        queues,
        workers,
        throughput: {
          finished_per_second: rate((row) => row.finished),
          failed_per_second: rate((row) => row.failed),
          history: history.map((row) => row?.finished ?? 0),
        },
      };
    });
}
