import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { mapPostgresError, type Sql } from '../platform/postgres.ts';
import type { JobHandler } from './handler.ts';
import { JobError, type Lease, LeaseLost } from './lease.ts';
import { deferJob, failJob, type JobFailure, releaseJob, retryJob } from './store.ts';

/** Backoff of a job that waits for a dependency grows as after this many failures at most: about half a minute. */
const PUT_OFFS_MAX = 5;
const PUT_OFF_JOBS_MAX = 1_000;
const BACKOFF_MS = 1_000;
const BACKOFF_MS_MAX = 60_000;
/** Waits between attempts to write how a job ended. */
const WRITE_RETRY_MS = 100;
const WRITE_RETRY_MS_MAX = 1_000;

/** Why a job is stopped: its worker is told to end. */
export class Draining extends Error {}

/** Why a job is stopped: its lease could not be renewed for most of its time, so that somebody may take it any moment. */
export class LeaseLapsed extends Error {}

/** What became of a job that was not finished. */
export interface Outcome {
  readonly status: 'failed' | 'queued' | 'lost';
  /** When a queued job falls due, from now; null: it is not in the queue, or not by us. */
  readonly dueMs: number | null;
}

const LOST: Outcome = { status: 'lost', dueMs: null };

/** Writes how attempts at jobs ended that did not finish them. */
export class OutcomeRecorder {
  readonly #sql: Sql;
  readonly #handler: Pick<JobHandler, 'onFailed'>;
  readonly #options: { readonly leaseMs: number; readonly retriesMax: number; readonly stop: AbortSignal };
  /** How often a job was put off here. */
  readonly #putOffs = new LRUCache<string, number>({ max: PUT_OFF_JOBS_MAX });

  constructor(
    sql: Sql,
    handler: Pick<JobHandler, 'onFailed'>,
    options: { readonly leaseMs: number; readonly retriesMax: number; readonly stop: AbortSignal },
  ) {
    this.#sql = sql;
    this.#handler = handler;
    this.#options = options;
  }

  /**
   * @param reason what the handler threw, or why its lease was aborted
   * @throws what PostgreSQL fails with for too long; then the lease expires
   */
  async record(lease: Lease, reason: unknown, log: Logger): Promise<Outcome> {
    if (reason instanceof LeaseLost) {
      log.info('job is no longer ours');
      return LOST;
    }
    if (reason instanceof Draining)
      return (await releaseJob(this.#sql, lease.held)) ? { status: 'queued', dueMs: 0 } : LOST;
    if (reason instanceof LeaseLapsed) {
      log.warn('the lease could not be renewed; the job is handed back');
      return this.#defer(lease, 0);
    }
    const known = mapPostgresError(reason);
    if (known instanceof AppError && known.retryable) {
      // Something that we depend on is away: no fault of the job, so it costs no attempt.
      log.warn({ err: known }, 'job put off');
      return this.#defer(lease, this.#putOffMs(lease.job.id));
    }
    const failure = toFailure(reason);
    if (failure.category === 'internal') log.error({ err: reason, phase: lease.phase }, 'job failed unexpectedly');
    const retry = failure.retryable && lease.job.retryCount < this.#options.retriesMax;
    log.info({ category: failure.category, retry }, failure.message);
    return retry ? this.#retry(lease, failure) : this.#fail(lease, failure);
  }

  async #defer({ held }: Lease, dueMs: number): Promise<Outcome> {
    const isOurs = await this.#untilWritten(Number.POSITIVE_INFINITY, () => deferJob(this.#sql, held, dueMs));
    return isOurs ? { status: 'queued', dueMs } : LOST;
  }

  async #retry({ held, phase, job }: Lease, failure: JobFailure): Promise<Outcome> {
    const dueMs = backoffMs(job.retryCount);
    const write = () => retryJob(this.#sql, held, phase, failure, dueMs);
    return (await this.#untilWritten(this.#options.leaseMs * 0.8, write)) ? { status: 'queued', dueMs } : LOST;
  }

  async #fail({ held, phase, job }: Lease, failure: JobFailure): Promise<Outcome> {
    const write = () =>
      this.#sql.begin(async (tx) => {
        const isOurs = await failJob(tx, held, phase, failure);
        if (isOurs) await this.#handler.onFailed(tx, job, failure);
        return isOurs;
      });
    return (await this.#untilWritten(this.#options.leaseMs * 0.8, write)) ? { status: 'failed', dueMs: null } : LOST;
  }

  /** Short at first, for what was away for a moment only. */
  #putOffMs(jobId: string): number {
    const before = this.#putOffs.get(jobId) ?? 0;
    this.#putOffs.set(jobId, Math.min(before + 1, PUT_OFFS_MAX));
    return backoffMs(before);
  }

  /**
   * The database may be away: try for `withinMs`, or until the worker is told to end. However late an outcome is
   * written, it counts only if nobody else has taken the job by then.
   */
  async #untilWritten(withinMs: number, write: () => Promise<boolean>): Promise<boolean> {
    const endMs = performance.now() + withinMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await write();
      } catch (error) {
        const known = mapPostgresError(error);
        const isAway = known instanceof AppError && known.retryable;
        const waitMs = backoffMs(attempt, WRITE_RETRY_MS, WRITE_RETRY_MS_MAX);
        if (!isAway || performance.now() + waitMs > endMs || this.#options.stop.aborted) throw error;
        await delay(waitMs);
      }
    }
  }
}

/** Full-jitter exponential backoff. */
function backoffMs(attempt: number, baseMs = BACKOFF_MS, maxMs = BACKOFF_MS_MAX): number {
  return Math.random() * Math.min(maxMs, baseMs * 2 ** attempt);
}

function toFailure(error: unknown): JobFailure {
  if (error instanceof JobError) return error.failure;
  if (error instanceof AppError && error.code === 'objects_refused') {
    return { category: 'storage', message: error.message, retryable: error.retryable };
  }
  return { category: 'internal', message: 'an unexpected fault; the log has the details', retryable: true };
}
