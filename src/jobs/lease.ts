import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Job, JobPhase } from './schema.ts';
import { advanceJob, completeJob, forgetCrashes, type HeldJob, isHeld, type JobFailure } from './store.ts';

/** Error for a job that was cancelled, reaped or taken over. Its worker must stop at once and write nothing more. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * Abort reason for a lease that couldn't be renewed for most of its duration: another worker may soon claim the job.
 */
export class LeaseLapsed extends Error {}

/** Failure of a job, with a reason for its owner. */
export class JobError extends Error {
  override readonly name = 'JobError';
  readonly failure: JobFailure;

  constructor(failure: JobFailure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

/**
 * Convert an error of a known category to a failure of its job. Return any other error unchanged.
 * @param place part of the job to prefix to the message: `texts 100 to 199`
 */
export function asJobError(error: unknown, known: Omit<JobFailure, 'message'> | null, place?: string): unknown {
  if (known === null || !(error instanceof Error)) return error;
  const message = place === undefined ? error.message : `${place}: ${error.message}`;
  return new JobError({ category: known.category, retryable: known.retryable, message }, error);
}

/** Time before a phase is recorded. A small document passes all phases sooner, and each record costs a write. */
export const RECORDED_AFTER_MS = 300;

/** Share of a lease that may pass without a renewal. The rest is for the work to stop. */
const LAPSE_SHARE = 0.8;
/** Share of a lease to wait for the reply to a renewal after the process was suspended. */
const PAUSED_SHARE = 0.1;

/** Lease of a worker on one job. All of the worker's writes go through it, and are refused once the lease is lost. */
export class Lease {
  readonly #sql: Sql;
  readonly #abort = new AbortController();
  readonly job: Job;
  readonly held: HeldJob;
  #phase: JobPhase;
  /**
   * Phase in the job's row, and the last write of it, possibly in progress. The write has no effect once the job ended.
   */
  #recorded: JobPhase;
  #recording: Promise<void> = Promise.resolve();
  #recordTimer: NodeJS.Timeout | null = null;
  #isSuspect: boolean;
  #unitsDone = 0;
  readonly #checkpoint = Promise.withResolvers<void>();
  #lapsesAtMs = 0;
  #lapseTimer: NodeJS.Timeout | null = null;
  #hasEnded = false;

  constructor(sql: Sql, job: Job, phase: JobPhase) {
    this.#sql = sql;
    this.job = job;
    this.held = { id: job.id, fence: job.fence };
    this.#phase = phase;
    this.#recorded = phase;
    this.#isSuspect = job.crashCount > 0;
  }

  get phase(): JobPhase {
    return this.#phase;
  }

  /** Signal that aborts when the lease is lost or the worker drains. Pass it to every wait. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(reason: Error): void {
    this.#abort.abort(reason);
  }

  /**
   * Abort the attempt (`LeaseLapsed`) once most of a lease has passed without another call, whether the database
   * refuses the renewal or never replies.
   * @param sentMs time by `performance.now()` before sending the statement that began or extended the lease
   */
  heldSince(sentMs: number, leaseMs: number): void {
    const dueMs = sentMs + leaseMs * LAPSE_SHARE;
    if (this.#hasEnded || dueMs <= this.#lapsesAtMs) return;
    this.#lapsesAtMs = dueMs;
    this.#abortAt(dueMs, leaseMs * PAUSED_SHARE);
  }

  #abortAt(dueMs: number, graceMs: number): void {
    clearTimeout(this.#lapseTimer ?? undefined);
    const fire = () => {
      // After a suspension of the process, the timer fires before the reply to a renewal is read.
      if (performance.now() > dueMs + graceMs / 2) this.#abortAt(performance.now() + graceMs, Number.POSITIVE_INFINITY);
      else this.abort(new LeaseLapsed());
    };
    this.#lapseTimer = setTimeout(fire, Math.max(0, dueMs - performance.now())).unref();
  }

  /** Stop the timer of `heldSince` at the end of the attempt. */
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#lapseTimer ?? undefined);
  }

  /** Move to a phase. It is recorded shortly afterwards if the job is still in it. @throws LeaseLost */
  async advance(to: JobPhase): Promise<void> {
    await this.#recording;
    this.signal.throwIfAborted();
    this.#phase = to;
    this.#recordTimer ??= setTimeout(() => this.#record(), RECORDED_AFTER_MS).unref();
  }

  #record(): void {
    this.#recordTimer = null;
    const to = this.#phase;
    this.#recording = advanceJob(this.#sql, this.held, this.#recorded, to).then((isHeld) => {
      if (isHeld) this.#recorded = to;
      else this.abort(new LeaseLost(this.job.id));
    });
    // The next phase rethrows this error.
    this.#recording.catch(() => undefined);
  }

  /**
   * Check that the lease is still held. Call this right before a step without protection by the fence: replacing or
   * deleting an object.
   * @throws LeaseLost
   */
  async confirm(): Promise<void> {
    this.signal.throwIfAborted();
    if (!(await isHeld(this.#sql, this.held))) throw new LeaseLost(this.job.id);
  }

  /** Number of completed units of work in this attempt. */
  get unitsDone(): number {
    return this.#unitsDone;
  }

  /**
   * Count a completed unit of work: a window of text, an image, a page of chunks, a batch of entries. The next
   * heartbeat records its time. A job that completes none for long can be reaped even if its worker is alive.
   */
  worked(): void {
    this.#unitsDone++;
  }

  /** Promise that resolves at the first checkpoint of this attempt. It never rejects. */
  get firstCheckpoint(): Promise<void> {
    return this.#checkpoint.promise;
  }

  /**
   * Record that the attempt has survived a part of every kind of its work, so it is unlikely to kill its worker. If the
   * job has lost a lease before, other jobs may now run beside it.
   */
  passCheckpoint(): void {
    this.#checkpoint.resolve();
  }

  /**
   * Record that part of the work is stored permanently, so that another worker can continue from it. This resets the
   * count of lost leases, since a job that makes progress doesn't kill its workers.
   */
  async progressed(): Promise<void> {
    this.worked();
    this.passCheckpoint();
    if (!this.#isSuspect) return;
    this.#isSuspect = false;
    await forgetCrashes(this.#sql, this.held);
  }

  /**
   * Record progress, like `progressed`, by a write that makes it visible. Reset the count of lost leases in the same
   * transaction: otherwise a worker that is killed right after each write would count as killed by its job.
   *
   * @param write returns false, without effect, if the job is no longer held
   * @throws LeaseLost, and the errors of `write`
   */
  async progressedBy(write: (sql: Sql, held: HeldJob) => Promise<boolean>): Promise<void> {
    const record = async (sql: Sql) => {
      if (!(await write(sql, this.held))) throw new LeaseLost(this.job.id);
    };
    if (!this.#isSuspect) await record(this.#sql);
    else
      await inTransaction(this.#sql, async (tx) => {
        // Lock the row first: two writes that share a lock on it would deadlock when changing it.
        await forgetCrashes(tx, this.held);
        await record(tx);
      });
    this.#isSuspect = false;
    this.worked();
    this.passCheckpoint();
  }

  /**
   * Finish the job in `tx`, the transaction that makes its work visible.
   * @throws LeaseLost, which rolls the transaction back
   */
  complete(tx: Sql, result: { chunksCount: number; fileType: string | null; actualCost: number }): Promise<void> {
    return this.completeBy((held) => completeJob(tx, held, result));
  }

  /**
   * Finish the job by a write that also makes its work visible.
   * @param write returns false, without effect, if the job is no longer held
   * @throws LeaseLost, and the errors of `write`
   */
  async completeBy(write: (held: HeldJob) => Promise<boolean>): Promise<void> {
    clearTimeout(this.#recordTimer ?? undefined);
    if (!(await write(this.held))) throw new LeaseLost(this.job.id);
  }
}
