import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../platform/errors.ts';
import { mapPostgresError, type Sql } from '../platform/postgres.ts';
import { GrowthRate } from './growth-rate.ts';
import { IN_PROGRESS, JOB_STATUSES, type JobStatus } from './schema.ts';
import {
  countFinished,
  countLive,
  type FinishedCount,
  findWatched,
  listFinishedAfter,
  listWatched,
  readClock,
  type WatchedRow,
  type WatchScope,
} from './watch-store.ts';

const JOBS_MAX = 200;
const FINISHED_MAX = 50;
/** Time before the start of the watch from which finished jobs are counted. */
const COUNTED_BEFORE_MS = 3_600_000;
/** Maximum time from a job's completion time until its transaction ends and shows the job as finished. */
const SETTLE_MS = 15_000;
/** Minimum time over which a rate is meaningful. */
const RATE_SECONDS_MIN = 10;

/** Progress of a job in units of work. */
export interface JobProgress {
  readonly done: number;
  readonly total: number;
  readonly unit: 'phases' | 'texts';
}

export interface WatchedJob extends WatchedRow {
  /** Progress; null while queued. */
  readonly progress: JobProgress | null;
  /** Texts per second; null if texts aren't counted, or not yet. */
  readonly items_per_second: number | null;
  readonly eta_seconds: number | null;
}

/** Jobs of an organization at one moment. All times are from the database clock. */
export interface JobsSnapshot {
  readonly object: 'jobs_snapshot';
  /** Sequence number of the snapshot in its watch, from 1. */
  readonly sequence: number;
  readonly at: string;
  /** Start of the time for which finished jobs are counted. */
  readonly since: string;
  /** Error message if the database did not answer; then the snapshot repeats the last one. Null otherwise. */
  readonly trouble: string | null;
  readonly counts: Readonly<Record<JobStatus, number>>;
  /** Number of jobs queued or in progress. */
  readonly live: number;
  /** At most 200 jobs: those in progress, then queued ones, each newest first; or those of the selected state. */
  readonly jobs: readonly WatchedJob[];
  /** Selected job, in any state. */
  readonly open: WatchedJob | null;
  /** Jobs that finished since the last snapshot, oldest first, at most 50; none in the first snapshot. */
  readonly finished: readonly WatchedJob[];
  /** Number of finished jobs beyond those 50. */
  readonly finished_more: number;
  /** Finished jobs per second, over at most the last minute. */
  readonly finished_per_second: number;
  /** Time until no job is live at that rate. */
  readonly eta_seconds: number | null;
}

/** Current selection of a watcher. */
export interface JobsSelection {
  /** State of the jobs to show; null for all live jobs. */
  readonly status: JobStatus | null;
  /** Id of a job to show in any state. */
  readonly openId: string | null;
}

/** Selection of a watcher. Every change triggers the next snapshot immediately. */
export class JobsSelector {
  #selection: JobsSelection;
  #changed = new AbortController();

  constructor(selection: JobsSelection = { status: null, openId: null }) {
    this.#selection = selection;
  }

  get selection(): JobsSelection {
    return this.#selection;
  }

  set selection(selection: JobsSelection) {
    this.#selection = selection;
    this.refresh();
  }

  refresh(): void {
    this.#changed.abort();
  }

  /** Wait at most `ms` for a change. @throws the reason of the signal */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#changed.signal]);
    await delay(ms, undefined, { signal: either }).catch(() => undefined);
    signal.throwIfAborted();
    if (this.#changed.signal.aborted) this.#changed = new AbortController();
  }
}

export interface WatchOptions extends Omit<WatchScope, 'orgId'> {
  readonly selector?: JobsSelector;
  readonly intervalMs?: number;
  readonly signal: AbortSignal;
  /** Count the texts of bulk jobs, done and in total, which rows of `jobs` lack. Omit unknown jobs. */
  readonly countTexts?: (sql: Sql, jobIds: readonly string[]) => Promise<ReadonlyMap<string, TextCount>>;
}

export interface TextCount {
  readonly done: number;
  readonly total: number;
}

/**
 * Watch the jobs of an organization. Each snapshot is consistent. While the database is unavailable, the last snapshot
 * is repeated with `trouble` set.
 * @throws the reason of the signal; AppError `postgres_unavailable` (503) if the first snapshot can't be read
 */
export async function* watchJobs(sql: Sql, orgId: string, options: WatchOptions): AsyncGenerator<JobsSnapshot, void> {
  const { selector = new JobsSelector(), intervalMs = 1_000, signal } = options;
  const watch = new Watch(orgId, options);
  let last: JobsSnapshot | null = null;
  for (;;) {
    signal.throwIfAborted();
    try {
      last = await sql.begin('isolation level repeatable read read only', (tx) => watch.read(tx, selector.selection));
    } catch (error) {
      const known = mapPostgresError(error);
      if (last === null || !(known instanceof AppError) || !known.retryable) throw known;
      last = { ...last, sequence: last.sequence + 1, trouble: known.message, finished: [], finished_more: 0 };
    }
    yield last;
    await selector.wait(intervalMs, signal);
  }
}

/** State of a watch between snapshots. */
class Watch {
  readonly #scope: WatchScope;
  readonly #countTexts: WatchOptions['countTexts'];
  #sequence = 0;
  #began: Date | null = null;
  /** Time up to which finished jobs are counted in `#settled`. */
  #settledAt = new Date(0);
  #settled = new Map<JobStatus, number>();
  #finishedTotal = 0;
  /** Reported finished jobs that may be read again: completion time by id. */
  #reported = new Map<string, string>();
  #rates = new Map<string, GrowthRate>();

  constructor(orgId: string, options: WatchOptions) {
    this.#scope = { orgId, kind: options.kind, bucketId: options.bucketId, visible: options.visible };
    this.#countTexts = options.countTexts;
  }

  async read(tx: Sql, selection: JobsSelection): Promise<JobsSnapshot> {
    const at = await readClock(tx);
    const began = this.#began ?? at;
    const since = new Date(began.getTime() - COUNTED_BEFORE_MS);
    const after = this.#began === null ? since : this.#settledAt;
    const settledAt = new Date(Math.max(after.getTime(), at.getTime() - SETTLE_MS));

    const live = await countLive(tx, this.#scope);
    const finishedCounts = await countFinished(tx, this.#scope, { after, settledAt });
    const rows = await listWatched(tx, this.#scope, selection.status, JOBS_MAX);
    const open = selection.openId === null ? null : await findWatched(tx, this.#scope, selection.openId);
    const reportedAfter = new Date(Math.max(after.getTime(), began.getTime()));
    const recent = await listFinishedAfter(tx, this.#scope, reportedAfter, FINISHED_MAX);
    const isNew = (row: WatchedRow) => !this.#reported.has(row.id);
    const finished = this.#began === null ? [] : recent.filter(isNew).reverse();
    const watched = await this.#measure(tx, at, [...rows, ...finished, ...(open ? [open] : [])]);

    // Change the state only below, so that a failed read leaves it unchanged.
    const settled = new Map(this.#settled);
    const total = new Map<JobStatus, number>();
    for (const count of finishedCounts) {
      settled.set(count.status, (settled.get(count.status) ?? 0) + count.settled);
    }
    for (const status of JOB_STATUSES) {
      const fresh = finishedCounts.find((count) => count.status === status)?.fresh ?? 0;
      total.set(status, (live.find((row) => row.status === status)?.n ?? 0) + (settled.get(status) ?? 0) + fresh);
    }
    const liveTotal = sum(live.map((row) => row.n));
    const finishedTotal = sum([...total.values()]) - liveTotal;
    const newlyFinished = this.#began === null ? 0 : finishedTotal - this.#finishedTotal;
    const perSecond = finishedPerSecond(finishedCounts, at);

    this.#began = began;
    this.#settledAt = settledAt;
    this.#settled = settled;
    this.#finishedTotal = finishedTotal;
    for (const row of recent) this.#reported.set(row.id, row.completed_at ?? '');
    const oldest = settledAt.toISOString();
    for (const [id, completedAt] of this.#reported) if (completedAt < oldest) this.#reported.delete(id);

    return {
      object: 'jobs_snapshot',
      sequence: ++this.#sequence,
      at: at.toISOString(),
      since: since.toISOString(),
      trouble: null,
      counts: Object.fromEntries(total) as Record<JobStatus, number>,
      live: liveTotal,
      jobs: watched.slice(0, rows.length),
      open: open === null ? null : (watched.at(-1) ?? null),
      finished: watched.slice(rows.length, rows.length + finished.length),
      finished_more: Math.max(0, newlyFinished - finished.length),
      finished_per_second: perSecond,
      eta_seconds: liveTotal > 0 && perSecond > 0 ? liveTotal / perSecond : null,
    };
  }

  async #measure(tx: Sql, at: Date, rows: readonly WatchedRow[]): Promise<WatchedJob[]> {
    const bulk = rows.filter((row) => row.kind === 'bulk').map((row) => row.id);
    const texts = bulk.length > 0 ? await this.#countTexts?.(tx, bulk) : undefined;
    const rates = new Map<string, GrowthRate>();
    const watched = rows.map((row): WatchedJob => {
      const count = texts?.get(row.id);
      if (count === undefined)
        return { ...row, progress: phaseProgress(row), items_per_second: null, eta_seconds: null };
      const progress = { ...count, unit: 'texts' as const };
      if (!isInProgress(row.status)) return { ...row, progress, items_per_second: null, eta_seconds: null };
      const rate = rates.get(row.id) ?? this.#rates.get(row.id) ?? new GrowthRate();
      rates.set(row.id, rate);
      rate.add(at.getTime(), count.done);
      const { perSecond } = rate;
      const eta = perSecond !== null && perSecond > 0 ? (count.total - count.done) / perSecond : null;
      return { ...row, progress, items_per_second: perSecond, eta_seconds: eta };
    });
    this.#rates = rates;
    return watched;
  }
}

/** Compute the rate over the last minute, or since the first job finished if the queue has only just begun. */
function finishedPerSecond(counts: readonly FinishedCount[], at: Date): number {
  const firstMs = Math.min(...counts.map((count) => count.firstOfMinute?.getTime() ?? Number.POSITIVE_INFINITY));
  const seconds = Math.max(RATE_SECONDS_MIN, Math.min(60, (at.getTime() - firstMs) / 1000));
  return sum(counts.map((count) => count.lastMinute)) / seconds;
}

function isInProgress(status: JobStatus): boolean {
  return (IN_PROGRESS as readonly JobStatus[]).includes(status);
}

/** Count an ingest job's completed phases. */
function phaseProgress({ kind, status }: WatchedRow): JobProgress | null {
  if (kind !== 'ingest') return null;
  if (status === 'ready') return { done: IN_PROGRESS.length, total: IN_PROGRESS.length, unit: 'phases' };
  const done = (IN_PROGRESS as readonly JobStatus[]).indexOf(status);
  return done < 0 ? null : { done, total: IN_PROGRESS.length, unit: 'phases' };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
