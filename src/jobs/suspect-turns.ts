import type { Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';
import { beginSuspectTurn, endSuspectTurn, readSuspectWaitMs } from './suspect-store.ts';

/** Timing of a worker's turns. */
export interface SuspectTimes {
  /** Time that a due suspect waits for an idle worker before a worker makes room for it. */
  readonly waitMs: number;
  /** Limits on the duration of a turn. */
  readonly turnMsMin: number;
  readonly turnMsMax: number;
  /** Minimum time after a turn, or after a suspect that ran without one, before the worker's next turn. */
  readonly pauseMsMin: number;
  /** Time after which a suspect no longer runs alone, even without a checkpoint. */
  readonly aloneMsMax: number;
  /** Minimum time between two checks of the queue for suspects. */
  readonly checkEveryMs: number;
}

const SUSPECT_TIMES: SuspectTimes = {
  waitMs: 3_000,
  turnMsMin: 5_000,
  turnMsMax: 30_000,
  pauseMsMin: 10_000,
  aloneMsMax: 30_000,
  checkEveryMs: 1_000,
};

/**
 * Turns of a worker for suspects: jobs that have lost a lease before. A suspect may kill its worker, so it runs alone.
 * A worker with many jobs would never become idle for it.
 *
 * During a turn, the worker claims no other jobs, so that it becomes idle. It then runs suspects one by one until its
 * turn ends. Only one worker per kind has a turn at a time; the others carry on. A turn lasts half as long as the
 * suspect has waited, within limits, so a suspect behind a longer job gets longer turns. Afterwards, the worker claims
 * other jobs for at least as long. Thus neither a long job nor an organization with many suspects takes more than half
 * of its time.
 */
export class SuspectTurns {
  readonly #sql: Sql;
  readonly #worker: { readonly id: string; readonly kind: JobKind; readonly leaseMs: number };
  readonly #times: SuspectTimes;
  /** Turn of this worker, in times by `performance.now()`. */
  #turn: { readonly beganMs: number; readonly endsMs: number } | null = null;
  /** True while the worker's row may record a turn. */
  #isStored = false;
  #pausesUntilMs = 0;
  #nextCheckMs = 0;

  constructor(
    sql: Sql,
    worker: { readonly id: string; readonly kind: JobKind; readonly leaseMs: number },
    times: Partial<SuspectTimes> = {},
  ) {
    this.#sql = sql;
    this.#worker = worker;
    this.#times = { ...SUSPECT_TIMES, ...times };
  }

  get aloneMsMax(): number {
    return this.#times.aloneMsMax;
  }

  get hasTurn(): boolean {
    return this.#turn !== null;
  }

  /** Time after which a waiting worker must call `isOpen` again; null outside a turn. */
  get checkInMs(): number | null {
    if (this.#turn === null) return null;
    return Math.max(0, Math.min(this.#nextCheckMs, this.#turn.endsMs) - performance.now());
  }

  /** Return true while this worker may claim only suspects. Begin or end a turn if it is time. */
  async isOpen(): Promise<boolean> {
    const nowMs = performance.now();
    if (this.#turn !== null && nowMs >= this.#turn.endsMs) this.#stop(nowMs);
    if (this.#turn === null && this.#isStored) await this.#clear();
    const canBegin = nowMs >= this.#pausesUntilMs;
    if (nowMs < this.#nextCheckMs || (this.#turn === null && !canBegin)) return this.#turn !== null;
    this.#nextCheckMs = nowMs + this.#times.checkEveryMs;
    const waitMs = await readSuspectWaitMs(this.#sql, this.#worker.kind);
    if (this.#turn !== null && waitMs === null) await this.end();
    if (this.#turn === null && waitMs !== null && waitMs >= this.#times.waitMs && canBegin) await this.#begin(waitMs);
    return this.#turn !== null;
  }

  /** End the turn early, since no suspect is due. */
  async end(): Promise<void> {
    this.#stop(performance.now());
    if (this.#isStored) await this.#clear();
  }

  /** Delay the next turn for as long as other jobs couldn't be claimed. Do nothing during a turn. */
  pauseAfter(beganMs: number, nowMs = performance.now()): void {
    if (this.#turn === null) this.#pausesUntilMs = nowMs + Math.max(this.#times.pauseMsMin, nowMs - beganMs);
  }

  async #begin(waitMs: number): Promise<void> {
    const { id, kind, leaseMs } = this.#worker;
    const { turnMsMin, turnMsMax } = this.#times;
    this.#isStored = true;
    if (!(await beginSuspectTurn(this.#sql, kind, id, leaseMs))) {
      this.#isStored = false;
      return;
    }
    const beganMs = performance.now();
    this.#turn = { beganMs, endsMs: beganMs + Math.min(turnMsMax, Math.max(turnMsMin, waitMs / 2)) };
  }

  #stop(nowMs: number): void {
    if (this.#turn === null) return;
    const { beganMs } = this.#turn;
    this.#turn = null;
    this.pauseAfter(beganMs, nowMs);
  }

  async #clear(): Promise<void> {
    await endSuspectTurn(this.#sql, this.#worker.id);
    this.#isStored = false;
  }
}
