import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { mapPostgresError, type Sql } from '../platform/postgres.ts';
import { REFUSED_MESSAGE } from './failure-message.ts';
import type { JobHandler } from './handler.ts';
import { JobError, type Lease, LeaseLapsed, LeaseLost } from './lease.ts';
import { deferJob, failJob, type JobFailure, releaseJob, retryJob } from './store.ts';

/** Number of deferrals up to which the backoff for an unavailable dependency grows, to about half a minute. */
const DEFERRALS_MAX = 5;
const DEFERRED_JOBS_MAX = 1_000;
const BACKOFF_MS = 1_000;
const BACKOFF_MS_MAX = 60_000;
/** Maximum pause of a job that waits for an upstream. */
const OUTAGE_BACKOFF_MS_MAX = 600_000;
/** Initial wait between attempts to write a job's outcome. */
const WRITE_RETRY_MS = 100;
const WRITE_RETRY_MS_MAX = 1_000;

export class Draining extends Error {}

/** Outcome of an attempt that didn't finish its job. */
export interface Outcome {
  readonly status: 'failed' | 'queued' | 'lost';
  /** Time until a queued job is due; null unless this worker returned it to the queue. */
  readonly dueMs: number | null;
}

const LOST: Outcome = { status: 'lost', dueMs: null };

interface OutcomeOptions {
  readonly leaseMs: number;
  readonly retriesMax: number;
  /** Age up to which a job is retried while its upstream is unavailable, regardless of `retriesMax`. */
  readonly retryWindowMs: number;
  readonly stop: AbortSignal;
}

/** Recorder of attempts that didn't finish their job. */
export class OutcomeRecorder {
  readonly #sql: Sql;
  readonly #handler: Pick<JobHandler, 'onFailed'>;
  readonly #options: OutcomeOptions;
  /** Number of deferrals by this worker, per job. */
  readonly #deferrals = new LRUCache<string, number>({ max: DEFERRED_JOBS_MAX });

  constructor(sql: Sql, handler: Pick<JobHandler, 'onFailed'>, options: OutcomeOptions) {
    this.#sql = sql;
    this.#handler = handler;
    this.#options = options;
  }

  /**
   * Record an outcome.
   * @param reason error of the handler, or abort reason of its lease
   * @throws error of PostgreSQL if it persists; the lease then expires
   */
  async record(lease: Lease, reason: unknown, log: Logger): Promise<Outcome> {
    if (reason instanceof LeaseLost) {
      log.info('the job is no longer held by this worker');
      return LOST;
    }
    if (reason instanceof Draining)
      return (await releaseJob(this.#sql, lease.held)) ? { status: 'queued', dueMs: 0 } : LOST;
    if (reason instanceof LeaseLapsed) {
      log.warn('the lease could not be renewed; the job returns to the queue');
      return this.#defer(lease, 0);
    }
    const known = mapPostgresError(reason);
    if (known instanceof AppError && known.retryable && known.code !== 'query_timeout') {
      // An unavailable dependency isn't the job's fault, so it costs no attempt.
      log.warn({ err: known }, 'a dependency is unavailable; the job returns to the queue');
      return this.#defer(lease, this.#deferralMs(lease.job.id));
    }
    const failure = toFailure(known);
    if (failure.category === 'internal') log.error({ err: reason, phase: lease.phase }, 'the job failed unexpectedly');
    const retry =
      failure.retryable && (lease.job.retryCount < this.#options.retriesMax || this.#outlives(lease, failure));
    log.info({ category: failure.category, retry }, failure.message);
    return this.#recordFailure(failure, log, (stored) =>
      retry ? this.#retry(lease, stored) : this.#fail(lease, stored),
    );
  }

  /**
   * Record a failure. If PostgreSQL refuses to store it, record a fixed message instead. Without an outcome, the job
   * would keep its lease until it expires, and count as killing its workers.
   */
  async #recordFailure(
    failure: JobFailure,
    log: Logger,
    record: (failure: JobFailure) => Promise<Outcome>,
  ): Promise<Outcome> {
    try {
      return await record(failure);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      log.error({ err: error }, 'the failure of a job could not be recorded; it is tried with a fixed message');
      return record({ ...failure, message: REFUSED_MESSAGE });
    }
  }

  /** Return true if the job should wait for the end of an outage of this duration. */
  #outlives({ job }: Lease, { category }: JobFailure): boolean {
    const ageMs = Date.now() - Date.parse(job.view.created_at);
    return category === 'upstream_unavailable' && ageMs < this.#options.retryWindowMs;
  }

  async #defer({ held }: Lease, dueMs: number): Promise<Outcome> {
    const isHeld = await this.#writeWithRetries(Number.POSITIVE_INFINITY, () => deferJob(this.#sql, held, dueMs));
    return isHeld ? { status: 'queued', dueMs } : LOST;
  }

  async #retry({ held, phase, job }: Lease, failure: JobFailure): Promise<Outcome> {
    const dueMs =
      failure.category === 'upstream_unavailable'
        ? backoffMs(job.retryCount, BACKOFF_MS, OUTAGE_BACKOFF_MS_MAX)
        : backoffMs(job.retryCount);
    const write = () => retryJob(this.#sql, held, phase, failure, dueMs);
    return (await this.#writeWithRetries(this.#options.leaseMs * 0.8, write)) ? { status: 'queued', dueMs } : LOST;
  }

  async #fail({ held, phase, job }: Lease, failure: JobFailure): Promise<Outcome> {
    const write = () =>
      this.#sql.begin(async (tx) => {
        const isHeld = await failJob(tx, held, phase, failure);
        if (isHeld) await this.#handler.onFailed(tx, job, failure);
        return isHeld;
      });
    return (await this.#writeWithRetries(this.#options.leaseMs * 0.8, write))
      ? { status: 'failed', dueMs: null }
      : LOST;
  }

  /** Return how long to defer a job. Start with a short time, since most outages are short. */
  #deferralMs(jobId: string): number {
    const before = this.#deferrals.get(jobId) ?? 0;
    this.#deferrals.set(jobId, Math.min(before + 1, DEFERRALS_MAX));
    return backoffMs(before);
  }

  /**
   * Write an outcome. If the database is unavailable, retry for `withinMs` or until the worker stops. A late write is
   * safe, since the fence refuses it once another worker has claimed the job.
   */
  async #writeWithRetries(withinMs: number, write: () => Promise<boolean>): Promise<boolean> {
    const endMs = performance.now() + withinMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await write();
      } catch (error) {
        const waitMs = backoffMs(attempt, WRITE_RETRY_MS, WRITE_RETRY_MS_MAX);
        if (!isUnavailable(error) || performance.now() + waitMs > endMs || this.#options.stop.aborted) throw error;
        await delay(waitMs);
      }
    }
  }
}

/** Return true for a database error after which the same write may succeed later. */
function isUnavailable(error: unknown): boolean {
  const known = mapPostgresError(error);
  return known instanceof AppError && known.retryable;
}

/** Return a pause of exponential backoff with full jitter. */
function backoffMs(attempt: number, baseMs = BACKOFF_MS, maxMs = BACKOFF_MS_MAX): number {
  return Math.random() * Math.min(maxMs, baseMs * 2 ** attempt);
}

function toFailure(error: unknown): JobFailure {
  if (error instanceof JobError) return error.failure;
  if (error instanceof AppError && error.code === 'objects_refused') {
    return { category: 'storage', message: error.message, retryable: error.retryable };
  }
  if (error instanceof AppError && error.code === 'query_timeout') {
    // The job's own work may cause the delay, so it costs an attempt.
    return { category: 'timeout', message: 'the database did not answer a query of the job in time', retryable: true };
  }
  return {
    category: 'internal',
    message: 'an unexpected error occurred; see the log of the worker for details',
    retryable: true,
  };
}
