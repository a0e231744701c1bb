import { setTimeout as delay } from 'node:timers/promises';
import { listenChannel, notifyChannel, type Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';

/** Callbacks of a worker for notifications. They must not throw. */
export interface NotificationListener {
  /**
   * Handle the notification that a job may be queued. Return true if the worker has a free slot; otherwise a driver
   * that delivers a notification to one worker only passes it on to the next.
   */
  onNotification(): boolean;
  /**
   * Handle the notification that this job was cancelled or reaped, or any job if null: its worker checks the lease now.
   */
  onLost(jobId: string | null): void;
}

/**
 * Notifier of workers: a job is queued, or a job was taken from its worker. Notifications are hints only and no job
 * depends on them: a lost one of the first kind costs the time until the worker's next sweep, one of the second kind
 * the time until its next heartbeat. Notify after the transaction that changed the job has committed.
 *
 * Every driver passes test/conformance/notifier.ts.
 */
export interface JobNotifier {
  /**
   * Notify workers that a job is queued, and wait until that is sent. One notification may tell of several jobs, and be sent a
   * moment later.
   *
   * @throws errors of the driver's connection; the job stays queued
   */
  notifyQueued(kind: JobKind): Promise<void>;
  /** Notify the worker of a job that it lost the job. @throws as `notifyQueued` */
  notifyLost(kind: JobKind, jobId: string): Promise<void>;
  /**
   * Listen until `signal` aborts. After a reconnection both callbacks are called, since notifications may have been
   * missed. Resolves once the listener is connected, or once a first attempt has failed; it then keeps trying.
   */
  listen(kind: JobKind, listener: NotificationListener, signal: AbortSignal): Promise<void>;
}

const CHANNEL = 'service_jobs';
const LOST = 'recall';
/** Least time between two notifications of queued jobs of a kind by one process. Each of them wakes every worker. */
const QUEUED_EVERY_MS = 50;

/** Open the notifier over PostgreSQL's LISTEN / NOTIFY. `direct` must not go through a transaction pooler. */
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

/** Calls of a function with a least time in between: those that come meanwhile are one call at the end of it. */
class SpacedCalls {
  readonly #run: () => PromiseLike<unknown>;
  #lastMs = Number.NEGATIVE_INFINITY;
  #planned: Promise<void> | null = null;

  constructor(run: () => PromiseLike<unknown>) {
    this.#run = run;
  }

  /** Call the function now or soon, and wait for it. @throws what it throws */
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
