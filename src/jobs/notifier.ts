import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import { listenChannel, notifyChannel, type Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';

/** A worker's callbacks for notifications. They must not throw. */
export interface NotificationListener {
  /**
   * Handle the notification that a job may be queued. Return true if the worker has a free slot. Otherwise a driver
   * that delivers a notification to a single worker passes it on.
   */
  onNotification(): boolean;
  /**
   * Handle the notification that this job, or any job if null, was cancelled or reaped. Its worker then checks the
   * lease immediately.
   */
  onLost(jobId: string | null): void;
}

/**
 * Notifier of workers about queued jobs, and about jobs that were taken from them. Notifications are only hints: no job
 * depends on them. Losing one of the first kind costs the time until the worker's next sweep, one of the second kind
 * the time until its next heartbeat. Notify only after the transaction that changed the job has committed.
 *
 * Every driver passes test/conformance/notifier.ts.
 */
export interface JobNotifier {
  /**
   * Notify workers that a job is queued, and wait until the notification is sent. One notification may cover several
   * jobs and be slightly delayed.
   * @throws errors of the driver's connection; the job stays queued
   */
  notifyQueued(kind: JobKind): Promise<void>;
  /** Notify a job's worker that it lost the job. @throws as `notifyQueued` */
  notifyLost(kind: JobKind, jobId: string): Promise<void>;
  /**
   * Listen until `signal` aborts. After a reconnection, call both callbacks, since notifications may have been missed.
   * Resolve once the listener is connected, or once a first attempt has failed; the listener then keeps trying.
   */
  listen(kind: JobKind, listener: NotificationListener, signal: AbortSignal): Promise<void>;
}

/** Notify workers of queued jobs. A lost notification is harmless, since workers also sweep for jobs. */
export async function notifyWorkers(
  { notifier, logger }: { readonly notifier: JobNotifier; readonly logger: Logger },
  kind: JobKind,
): Promise<void> {
  await notifier
    .notifyQueued(kind)
    .catch((error) => logger.debug({ err: error }, 'notification of a queued job was lost'));
}

const CHANNEL = 'service_jobs';
const LOST = 'recall';
/** Minimum time between notifications of one kind of job from one process, since each wakes every worker. */
const QUEUED_EVERY_MS = 50;

/** Open the notifier over PostgreSQL's LISTEN / NOTIFY. `direct` must not use a transaction pooler. */
export function openPostgresNotifier(sql: Sql, direct: Sql): JobNotifier {
  const queued = new Map<JobKind, SpacedCalls>();
  return {
    async notifyQueued(kind) {
      const calls = queued.get(kind) ?? new SpacedCalls(() => notifyChannel(sql, CHANNEL, kind));
      queued.set(kind, calls);
      await calls.call();
    },
    async notifyLost(kind, jobId) {
      await notifyChannel(sql, CHANNEL, `${kind} ${LOST} ${jobId}`);
    },
    async listen(kind, listener, signal) {
      await listenChannel(
        direct,
        CHANNEL,
        (payload) => {
          if (payload === null) {
            listener.onLost(null);
            listener.onNotification();
          } else if (payload === kind) {
            listener.onNotification();
          } else if (payload.startsWith(`${kind} ${LOST} `)) {
            listener.onLost(payload.slice(`${kind} ${LOST} `.length));
          }
        },
        { signal },
      );
    },
  };
}

/** Throttle of a function to a minimum interval. It merges calls during the interval into one at its end. */
class SpacedCalls {
  readonly #run: () => PromiseLike<unknown>;
  #lastMs = Number.NEGATIVE_INFINITY;
  #planned: Promise<void> | null = null;

  constructor(run: () => PromiseLike<unknown>) {
    this.#run = run;
  }

  /** Call the function now or soon, and wait for it. @throws the function's error */
  async call(): Promise<void> {
    const leftMs = this.#lastMs + QUEUED_EVERY_MS - performance.now();
    if (this.#planned === null && leftMs <= 0) return this.#callNow();
    this.#planned ??= delay(leftMs).then(() => {
      this.#planned = null;
      return this.#callNow();
    });
    return this.#planned;
  }

  async #callNow(): Promise<void> {
    this.#lastMs = performance.now();
    await this.#run();
  }
}
