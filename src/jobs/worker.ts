import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../platform/ids.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Sql } from '../platform/postgres.ts';
import { SlotMap } from '../platform/slot-map.ts';
import type { SpanAttributes, Tracing } from '../platform/span.ts';
import { runFor } from '../platform/work-context.ts';
import { ClaimReturns, RETURN_MS } from './claim-returns.ts';
import type { JobHandler } from './handler.ts';
import { Lease, LeaseLost } from './lease.ts';
import { type JobNotifier, notifyWorkers } from './notifier.ts';
import { Draining, type Outcome, OutcomeRecorder } from './outcome.ts';
import type { Job } from './schema.ts';
import { claimJobs, renewLeases } from './store.ts';
import { type SuspectTimes, SuspectTurns } from './suspect-turns.ts';
import { processHost, removeWorker, touchWorker } from './worker-store.ts';

export interface WorkerOptions {
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Number of failed attempts after which a retryable failure is final. */
  readonly retriesMax: number;
  /** Age up to which a job is retried while its upstream is unavailable. */
  readonly retryWindowMs?: number;
  /** Maximum wait for a notification before reading the queue. */
  readonly sweepMs?: number;
  /** Time for running jobs to finish after a stop request. Then they return to the queue. */
  readonly drainMs?: number;
  /** Time for running jobs to end after that. */
  readonly abortMs?: number;
  /** Timing of the turns in which the worker runs suspects, which have lost a lease, alone. */
  readonly suspects?: Partial<SuspectTimes>;
}

interface WorkerContext {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | null;
}

/** Attempt at a job in progress. */
interface Run {
  readonly lease: Lease;
  readonly done: Promise<void>;
  /** Units of work at the last renewal that recorded them. */
  unitsWritten: number;
}

/** Worker that claims jobs of one kind, renews their leases, and records their outcomes. */
export class JobWorker implements Service {
  readonly name: string;
  readonly id = newId('wrk');
  readonly #context: WorkerContext;
  readonly #handler: JobHandler;
  readonly #options: Required<WorkerOptions>;
  readonly #running = new SlotMap<Run>();
  readonly #stop = new AbortController();
  #isExclusive = false;
  #endWait: () => void = () => {};
  #isNotified = false;
  #loops: Promise<void>[] = [];
  #heartbeat: Promise<void> = Promise.resolve();
  #nextHeartbeat: Promise<void> | null = null;
  readonly #outcomes: OutcomeRecorder;
  readonly #turns: SuspectTurns;
  readonly #returns: ClaimReturns;

  constructor(context: WorkerContext, handler: JobHandler, options: WorkerOptions) {
    this.name = `${handler.kind} worker`;
    this.#context = context;
    this.#handler = handler;
    this.#options = { retryWindowMs: 0, sweepMs: 5_000, drainMs: 10_000, abortMs: 4_000, suspects: {}, ...options };
    this.#outcomes = new OutcomeRecorder(context.sql, handler, { ...this.#options, stop: this.#stop.signal });
    const { leaseMs, suspects } = this.#options;
    this.#turns = new SuspectTurns(context.sql, { id: this.id, kind: handler.kind, leaseMs }, suspects);
    this.#returns = new ClaimReturns(context.sql, context.logger, { id: this.id, leaseMs });
  }

  async start(): Promise<void> {
    await this.#touch();
    const listener = {
      onNotification: () => {
        this.#wake();
        return !this.#isExclusive && !this.#turns.hasTurn && this.#running.size < this.#options.concurrency;
      },
      onLost: (jobId: string | null) => {
        if (jobId === null ? this.#running.size > 0 : this.#isRunning(jobId)) void this.#renewSoon();
      },
    };
    await this.#context.notifier.listen(this.#handler.kind, listener, this.#stop.signal);
    this.#loops = [this.#claimLoop(), this.#heartbeatLoop()];
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    // A claim in progress may still start jobs. No job starts afterwards.
    await this.#loops[0];
    const drained = Promise.allSettled([...this.#running].map((run) => run.done));
    await waitAtMost(this.#options.drainMs, drained);
    for (const { lease } of this.#running) lease.abort(new Draining());
    // Work that doesn't end in time is fenced off: its jobs return to the queue, and none of its later writes count.
    await Promise.race([drained, delay(this.#options.abortMs, undefined, { ref: false })]);
    if (await this.#returns.returnAll()) await notifyWorkers(this.#context, this.#handler.kind);
    await Promise.race([
      Promise.allSettled([...this.#loops, this.#nextHeartbeat, this.#heartbeat]),
      delay(RETURN_MS, undefined, { ref: false }),
    ]);
    await removeWorker(this.#context.sql, this.id).catch(() => undefined);
  }

  #touch(): Promise<void> {
    return touchWorker(this.#context.sql, {
      id: this.id,
      kind: this.#handler.kind,
      host: processHost(),
      pid: process.pid,
    });
  }

  #wake(): void {
    this.#isNotified = true;
    this.#endWait();
  }

  /** Wait for a notification or a finished job, at most `sweepMs`, or until the next check of the suspect turn. */
  async #waitForNotification(): Promise<void> {
    if (!this.#isNotified) {
      const { sweepMs } = this.#options;
      const waitMs = this.#isExclusive ? sweepMs : Math.min(sweepMs, this.#turns.checkInMs ?? sweepMs);
      const { promise: notified, resolve } = Promise.withResolvers<void>();
      this.#endWait = resolve;
      await waitAtMost(waitMs, notified);
    }
    this.#isNotified = false;
  }

  async #claimLoop(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let claimed = 0;
      try {
        await this.#returns.returnUnknown([...this.#running].map(({ lease }) => lease.held));
        claimed = await this.#claim();
      } catch (error) {
        this.#returns.claimFailed();
        this.#context.logger.warn({ err: error }, 'jobs could not be claimed; the worker tries again');
        await delay(1_000, undefined, { signal: this.#stop.signal }).catch(() => undefined);
        continue;
      }
      if (claimed === 0) await this.#waitForNotification();
    }
  }

  /**
   * Claim jobs for all free slots. A job that has lost a lease before may kill its worker, so it runs alone until its
   * first checkpoint, and another crash counts against no other job. A worker claims it when idle and no other job is
   * due, or after becoming idle in its turn.
   */
  async #claim(): Promise<number> {
    const free = this.#options.concurrency - this.#running.size;
    if (free <= 0 || this.#isExclusive) return 0;
    const isTurn = await this.#turns.isOpen();
    let leases = isTurn ? [] : await this.#claimUpTo(free, 'none');
    let isSuspect = false;
    if (leases.length === 0 && this.#running.size === 0) {
      leases = await this.#claimUpTo(1, 'only');
      isSuspect = leases.length > 0;
      if (isTurn && !isSuspect) {
        await this.#turns.end();
        leases = await this.#claimUpTo(free, 'none');
      }
    }
    this.#isExclusive = isSuspect;
    for (const lease of leases) {
      this.#launch(lease);
      if (isSuspect) void this.#shareAfterCheckpoint(lease);
    }
    return leases.length;
  }

  /** Let other jobs run beside a suspect once it has passed a checkpoint or run alone for long. */
  async #shareAfterCheckpoint(lease: Lease): Promise<void> {
    await waitAtMost(this.#turns.aloneMsMax, lease.firstCheckpoint, { ref: false });
    if (!this.#isExclusive || !this.#isRunning(lease.job.id)) return;
    this.#isExclusive = false;
    await this.#turns.end().catch((error) => this.#context.logger.warn({ err: error }, 'a turn could not be ended'));
    this.#wake();
  }

  async #claimUpTo(limit: number, suspects: 'only' | 'none'): Promise<Lease[]> {
    const { sql } = this.#context;
    const { kind, firstPhase } = this.#handler;
    const { leaseMs } = this.#options;
    const sentMs = performance.now();
    const jobs = await claimJobs(sql, { kind, workerId: this.id, firstPhase, leaseMs, limit, suspects });
    return jobs.map((job) => {
      const lease = new Lease(sql, job, firstPhase);
      lease.heldSince(sentMs, leaseMs);
      return lease;
    });
  }

  #launch(lease: Lease): void {
    const beganMs = performance.now();
    const done = this.#run(lease).finally(() => {
      lease.end();
      this.#running.delete(id);
      if (this.#isExclusive) this.#turns.pauseAfter(beganMs);
      if (this.#running.size === 0) this.#isExclusive = false;
      this.#wake();
    });
    const id = this.#running.add({ lease, done, unitsWritten: 0 });
  }

  #isRunning(jobId: string): boolean {
    for (const { lease } of this.#running) if (lease.job.id === jobId) return true;
    return false;
  }

  /** Run an attempt at a job. Logs and spans carry the ids of the job and of the request that queued it. */
  async #run(lease: Lease): Promise<void> {
    const { metrics, tracing = null } = this.#context;
    const { kind } = this.#handler;
    const { id, orgId, requestId, traceParent } = lease.job;
    const span = tracing?.startSpan(`job ${kind}`, 'consumer', traceParent, attributesOf(lease.job)) ?? null;
    const beganMs = performance.now();
    countWait(metrics, lease.job);
    const outcome = await runFor({ requestId, jobId: id, orgId, span }, () => this.#attempt(lease));
    metrics.jobSeconds.observe({ kind, outcome }, (performance.now() - beganMs) / 1000);
    span?.setAttributes({ 'service.job.outcome': outcome });
    span?.end(outcome === 'ready' ? null : outcome);
  }

  /** Run the handler and record its outcome. Never rejects. */
  async #attempt(lease: Lease): Promise<'ready' | 'unrecorded' | Outcome['status']> {
    const { logger: log, metrics } = this.#context;
    const { kind } = this.#handler;
    try {
      await this.#handler.run(lease);
      metrics.jobsFinished.inc({ kind, status: 'ready' });
      log.debug('the job is ready');
      return 'ready';
    } catch (error) {
      const reason = lease.signal.aborted ? lease.signal.reason : error;
      try {
        const { status, dueMs } = await this.#outcomes.record(lease, reason, log);
        if (status === 'failed') metrics.jobsFinished.inc({ kind, status });
        // Other workers may immediately claim a job that this worker returned to the queue.
        else if (dueMs === 0) await notifyWorkers(this.#context, this.#handler.kind);
        else if (dueMs !== null) this.#wakeIn(dueMs);
        return status;
      } catch (recordError) {
        log.error({ err: recordError }, 'the outcome of a job could not be recorded; its lease will expire');
        return 'unrecorded';
      }
    }
  }

  /** Wake the worker when a deferred job is due, for which no notification is sent. */
  #wakeIn(delayMs: number): void {
    delay(delayMs, undefined, { signal: this.#stop.signal, ref: false }).then(
      () => this.#wake(),
      () => undefined,
    );
  }

  async #heartbeatLoop(): Promise<void> {
    // Keep sending heartbeats while draining, as long as a job runs.
    while (!this.#stop.signal.aborted || this.#running.size > 0) {
      await delay(this.#options.leaseMs / 4, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (this.#stop.signal.aborted) {
        if (this.#running.size === 0) return;
        await Promise.race([delay(this.#options.leaseMs / 8), this.#anyJobEnds()]);
      }
      await this.#renewSoon();
    }
  }

  /** Renew leases as soon as no renewal is in progress. Concurrent calls share one renewal. Never rejects. */
  #renewSoon(): Promise<void> {
    this.#nextHeartbeat ??= this.#heartbeat.then(() => {
      this.#nextHeartbeat = null;
      this.#heartbeat = this.#renew();
      return this.#heartbeat;
    });
    return this.#nextHeartbeat;
  }

  /**
   * Extend the leases of running jobs. Don't wait for an unresponsive database: the next renewal may get another
   * connection, and a late reply still counts.
   */
  async #renew(): Promise<void> {
    await waitAtMost(this.#options.leaseMs / 2, this.#extend(), { ref: false });
  }

  /** Extend leases, recording the last unit of work, and stop jobs whose lease is lost. Never rejects. */
  async #extend(): Promise<void> {
    const { sql, logger } = this.#context;
    const { leaseMs } = this.#options;
    const runs = [...this.#running].map((run) => ({ run, unitsDone: run.lease.unitsDone }));
    try {
      const sentMs = performance.now();
      const renewed = await renewLeases(
        sql.limited({ ms: leaseMs }),
        this.id,
        runs.map(({ run, unitsDone }) => ({ ...run.lease.held, hasWorked: unitsDone > run.unitsWritten })),
        leaseMs,
      );
      const kept = new Map(renewed.map((held) => [held.id, held]));
      for (const { run, unitsDone } of runs) {
        const { lease } = run;
        const held = kept.get(lease.job.id);
        if (held?.isWritten) run.unitsWritten = Math.max(unitsDone, run.unitsWritten);
        if (held !== undefined) lease.heldSince(sentMs, leaseMs);
        else if (this.#isRunning(lease.job.id)) lease.abort(new LeaseLost(lease.job.id));
      }
      await this.#touch();
    } catch (error) {
      logger.warn({ err: error }, 'the heartbeat failed; leases were not renewed');
    }
  }

  #anyJobEnds(): Promise<unknown> {
    return Promise.race([...this.#running].map((run) => run.done));
  }
}

/** Wait for a promise, at most `ms`. @param options.ref false if the timer must not keep the process running */
async function waitAtMost(ms: number, promise: Promise<unknown>, { ref = true } = {}): Promise<void> {
  const timer = new AbortController();
  await Promise.race([promise, delay(ms, undefined, { signal: timer.signal, ref }).catch(() => undefined)]);
  timer.abort();
}

/** Measure the time from a job's creation to its first claim, both by the database clock. */
function countWait(metrics: Pick<Metrics, 'jobWaitSeconds'>, { kind, retryCount, crashCount, view }: Job): void {
  if (retryCount > 0 || crashCount > 0 || view.started_at === null) return;
  const seconds = (Date.parse(view.started_at) - Date.parse(view.created_at)) / 1000;
  metrics.jobWaitSeconds.observe({ kind }, Math.max(0, seconds));
}

function attributesOf({ id, kind, priority, retryCount, crashCount }: Job): SpanAttributes {
  return {
    'service.job.id': id,
    'service.job.kind': kind,
    'service.job.priority': priority,
    'service.job.attempt': retryCount + crashCount + 1,
  };
}
