import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { type HeldJob, releaseUnknown } from './store.ts';

/** Maximum time that a stopping worker spends on returning its jobs. */
export const RETURN_MS = 2_000;

/** Returner of jobs that a worker holds according to the database, but doesn't run, to the queue. */
export class ClaimReturns {
  readonly #sql: Sql;
  readonly #logger: Logger;
  readonly #workerId: string;
  readonly #leaseMs: number;
  /** Time of the last failed claim by `performance.now()`. PostgreSQL may have executed the claim, or may yet do so. */
  #failedClaimMs: number | null = null;

  constructor(sql: Sql, logger: Logger, worker: { readonly id: string; readonly leaseMs: number }) {
    this.#sql = sql;
    this.#logger = logger;
    this.#workerId = worker.id;
    this.#leaseMs = worker.leaseMs;
  }

  claimFailed(): void {
    this.#failedClaimMs = performance.now();
  }

  /**
   * After a failed claim, return the jobs that it claimed to the queue, for as long as the claim may still take effect.
   *
   * @param running jobs that the worker runs
   */
  async returnUnknown(running: readonly HeldJob[]): Promise<void> {
    if (this.#failedClaimMs === null) return;
    const isLast = performance.now() > this.#failedClaimMs + this.#leaseMs;
    const jobs = await releaseUnknown(this.#sql, this.#workerId, running);
    if (jobs > 0) this.#logger.warn({ jobs }, 'jobs returned to the queue, since the answer to a claim was lost');
    if (isLast) this.#failedClaimMs = null;
  }

  /** Return all jobs of the worker once nothing runs any more. Never rejects. @returns true if there were any */
  async returnAll(): Promise<boolean> {
    const endMs = performance.now() + RETURN_MS;
    for (;;) {
      try {
        return (await releaseUnknown(this.#sql, this.#workerId, [])) > 0;
      } catch (error) {
        if (performance.now() > endMs) {
          this.#logger.warn({ err: error }, 'jobs could not be returned to the queue; their leases will expire');
          return false;
        }
        await delay(RETURN_MS / 10);
      }
    }
  }
}
