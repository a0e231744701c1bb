import type { Sql } from '../platform/postgres.ts';
import type { Job, JobPhase } from './schema.ts';
import { advanceJob, completeJob, forgetCrashes, type HeldJob, isHeld, type JobFailure } from './store.ts';

/** The job was cancelled, reaped or taken over: stop at once and write nothing more. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** A job failed for a reason that its owner can be told. */
export class JobError extends Error {
  override readonly name = 'JobError';
  readonly failure: JobFailure;

  constructor(failure: JobFailure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

/**
 * A fault as the failure of the job that met it, where it is of a known category; anything else comes back as it is.
 *
 * @param place part of the job, put in front of the message: `texts 100 to 199`
 */
export function asJobError(error: unknown, known: Omit<JobFailure, 'message'> | null, place?: string): unknown {
  if (known === null || !(error instanceof Error)) return error;
  const message = place === undefined ? error.message : `${place}: ${error.message}`;
  return new JobError({ category: known.category, retryable: known.retryable, message }, error);
}

/** A worker's right to one job: everything it writes goes through here and is refused once the right is gone. */
export class Lease {
  readonly #sql: Sql;
  readonly #abort = new AbortController();
  readonly job: Job;
  readonly held: HeldJob;
  #phase: JobPhase;
  #isSuspect: boolean;

  constructor(sql: Sql, job: Job, phase: JobPhase) {
    this.#sql = sql;
    this.job = job;
    this.held = { id: job.id, fence: job.fence };
    this.#phase = phase;
    this.#isSuspect = job.crashCount > 0;
  }

  get phase(): JobPhase {
    return this.#phase;
  }

  /** Aborted when the lease is lost or the worker drains; pass it to every wait. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** @throws LeaseLost */
  async advance(to: JobPhase): Promise<void> {
    this.signal.throwIfAborted();
    if (!(await advanceJob(this.#sql, this.held, this.#phase, to))) throw new LeaseLost(this.job.id);
    this.#phase = to;
  }

  /**
   * To be asked right before a step that nothing refuses to a worker that lost the job: an object that it replaces or
   * removes.
   *
   * @throws LeaseLost
   */
  async confirm(): Promise<void> {
    this.signal.throwIfAborted();
    if (!(await isHeld(this.#sql, this.held))) throw new LeaseLost(this.job.id);
  }

  /**
   * Say that a part of the work is stored for good, which the next worker goes on from. A job that comes further each
   * time is not one that kills its workers: the leases that it lost so far are forgotten.
   */
  async progressed(): Promise<void> {
    if (!this.#isSuspect) return;
    this.#isSuspect = false;
    await forgetCrashes(this.#sql, this.held);
  }

  /**
   * Finish the job inside `tx`, the transaction that also makes its work visible.
   * @throws LeaseLost so that the transaction rolls back
   */
  async complete(tx: Sql, result: { chunksCount: number; fileType: string | null; actualCost: number }): Promise<void> {
    if (!(await completeJob(tx, this.held, this.#phase, result))) throw new LeaseLost(this.job.id);
  }
}
