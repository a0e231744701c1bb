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
/** Finished jobs are counted from this long before the watch began. */
const COUNTED_BEFORE_MS = 3_600_000;
/** A job may become visible this long after the time that it says it finished at: its transaction has to end first. */
const SETTLE_MS = 15_000;
/** A pace of less time than this says little. */
const PACE_SECONDS_MIN = 10;

/** Units of work of one job. */
export interface JobProgress {
  readonly done: number;
  readonly total: number;
  readonly unit: 'phases' | 'texts';
}

export interface WatchedJob extends WatchedRow {
  /** Null while the job waits. */
  readonly progress: JobProgress | null;
  /** Texts per second; null where texts are not counted, or not yet. */
  readonly items_per_second: number | null;
  readonly eta_seconds: number | null;
}

/** The jobs of one organization at one moment. All times are the database's. */
export interface JobsSnapshot {
  readonly object: 'jobs_snapshot';
  /** 1 for the first of a watch. */
  readonly sequence: number;
  readonly at: string;
  /** Finished jobs are counted from here. */
  readonly since: string;
  /** Set: the database did not answer, so this is what was so before. */
  readonly trouble: string | null;
  readonly counts: Readonly<Record<JobStatus, number>>;
  /** Jobs that wait or are worked on. */
  readonly live: number;
  /** At most 200 of them: those in progress, then those that wait, each newest first; or those of the state looked at. */
  readonly jobs: readonly WatchedJob[];
  /** The job looked at, in whatever state it is. */
  readonly open: WatchedJob | null;
  /** Finished since the last snapshot, oldest first, at most 50; none in the first. */
  readonly finished: readonly WatchedJob[];
  /** How many more did. */
  readonly finished_more: number;
  /** Over the last minute at most. */
  readonly finished_per_second: number;
  /** Until nothing is live any more, at that pace. */
  readonly eta_seconds: number | null;
}

/** What a watcher looks at now. */
export interface JobsSelection {
  /** Only jobs in this state; null: all that are live. */
  readonly status: JobStatus | null;
  /** A job to be shown whatever its state is. */
  readonly openId: string | null;
}

/** Where a watcher says what it looks at; each change brings the next snapshot forward. */
export class JobsSelector {
  #look: JobsSelection;
  #changed = new AbortController();

  constructor(look: JobsSelection = { status: null, openId: null }) {
    this.#look = look;
  }

  get look(): JobsSelection {
    return this.#look;
  }

  set look(look: JobsSelection) {
    this.#look = look;
    this.refresh();
  }

  refresh(): void {
    this.#changed.abort();
  }

  /** Until a change, or `ms`. @throws the signal's reason */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#changed.signal]);
    await delay(ms, undefined, { signal: either }).catch(() => undefined);
    signal.throwIfAborted();
    if (this.#changed.signal.aborted) this.#changed = new AbortController();
  }
}

export interface WatchOptions extends Omit<WatchScope, 'orgId'> {
  readonly lens?: JobsSelector;
  readonly intervalMs?: number;
  readonly signal: AbortSignal;
  /** Texts done and in all of those of these bulk jobs that are known; the jobs alone do not tell. */
  readonly countTexts?: (sql: Sql, jobIds: readonly string[]) => Promise<ReadonlyMap<string, TextCount>>;
}

export interface TextCount {
  readonly done: number;
  readonly total: number;
}

/**
 * The jobs of an organization, again and again: each snapshot is one consistent reading. When the database goes away
 * after the first one, the last is repeated with `trouble` set until it is back.
 *
 * @throws the signal's reason; AppError `postgres_unavailable` (503) where there is no first snapshot
 */
export async function* watchJobs(sql: Sql, orgId: string, options: WatchOptions): AsyncGenerator<JobsSnapshot, void> {
  const { lens = new JobsSelector(), intervalMs = 1_000, signal } = options;
  const watch = new Watch(orgId, options);
  let last: JobsSnapshot | null = null;
  for (;;) {
    signal.throwIfAborted();
    try {
      last = await sql.begin('isolation level repeatable read read only', (tx) => watch.read(tx, lens.look));
    } catch (error) {
      const known = mapPostgresError(error);
      if (last === null || !(known instanceof AppError) || !known.retryable) throw known;
      last = { ...last, sequence: last.sequence + 1, trouble: known.message, finished: [], finished_more: 0 };
    }
    yield last;
    await lens.wait(intervalMs, signal);
  }
}

/** What one watch remembers from snapshot to snapshot. */
class Watch {
  readonly #scope: WatchScope;
  readonly #countTexts: WatchOptions['countTexts'];
  #sequence = 0;
  #began: Date | null = null;
  /** Jobs that finished up to here are in `#settled`. */
  #settledAt = new Date(0);
  #settled = new Map<JobStatus, number>();
  #finishedTotal = 0;
  /** Ids of finished jobs that were told of, and may be read again. */
  #told = new Map<string, string>();
  #paces = new Map<string, GrowthRate>();

  constructor(orgId: string, options: WatchOptions) {
    this.#scope = { orgId, kind: options.kind, bucketId: options.bucketId, visible: options.visible };
    this.#countTexts = options.countTexts;
  }

  async read(tx: Sql, look: JobsSelection): Promise<JobsSnapshot> {
    const at = await readClock(tx);
    const began = this.#began ?? at;
    const since = new Date(began.getTime() - COUNTED_BEFORE_MS);
    const after = this.#began === null ? since : this.#settledAt;
    const settledAt = new Date(Math.max(after.getTime(), at.getTime() - SETTLE_MS));

    const live = await countLive(tx, this.#scope);
    const finishedCounts = await countFinished(tx, this.#scope, { after, settledAt });
    const rows = await listWatched(tx, this.#scope, look.status, JOBS_MAX);
    const open = look.openId === null ? null : await findWatched(tx, this.#scope, look.openId);
    const toldAfter = new Date(Math.max(after.getTime(), began.getTime()));
    const recent = await listFinishedAfter(tx, this.#scope, toldAfter, FINISHED_MAX);
    const isNew = (row: WatchedRow) => !this.#told.has(row.id);
    const finished = this.#began === null ? [] : recent.filter(isNew).reverse();
    const watched = await this.#measure(tx, at, [...rows, ...finished, ...(open ? [open] : [])]);

    // Nothing is kept of a reading that fails half-way.
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
    for (const row of recent) this.#told.set(row.id, row.completed_at ?? '');
    const oldest = settledAt.toISOString();
    for (const [id, completedAt] of this.#told) if (completedAt < oldest) this.#told.delete(id);

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
    const paces = new Map<string, GrowthRate>();
    const watched = rows.map((row): WatchedJob => {
      const count = texts?.get(row.id);
      if (count === undefined)
        return { ...row, progress: phaseProgress(row), items_per_second: null, eta_seconds: null };
      const progress = { ...count, unit: 'texts' as const };
      if (!isInProgress(row.status)) return { ...row, progress, items_per_second: null, eta_seconds: null };
      const pace = paces.get(row.id) ?? this.#paces.get(row.id) ?? new GrowthRate();
      paces.set(row.id, pace);
      pace.add(at.getTime(), count.done);
      const { perSecond } = pace;
      const eta = perSecond !== null && perSecond > 0 ? (count.total - count.done) / perSecond : null;
      return { ...row, progress, items_per_second: perSecond, eta_seconds: eta };
    });
    this.#paces = paces;
    return watched;
  }
}

/** Over the last minute, or since the first of its jobs finished where that is less: a queue has only just begun. */
function finishedPerSecond(counts: readonly FinishedCount[], at: Date): number {
  const firstMs = Math.min(...counts.map((count) => count.firstOfMinute?.getTime() ?? Number.POSITIVE_INFINITY));
  const seconds = Math.max(PACE_SECONDS_MIN, Math.min(60, (at.getTime() - firstMs) / 1000));
  return sum(counts.map((count) => count.lastMinute)) / seconds;
}

function isInProgress(status: JobStatus): boolean {
  return (IN_PROGRESS as readonly JobStatus[]).includes(status);
}

/** How many of its phases an ingest job has behind it. */
function phaseProgress({ kind, status }: WatchedRow): JobProgress | null {
  if (kind !== 'ingest') return null;
  if (status === 'ready') return { done: IN_PROGRESS.length, total: IN_PROGRESS.length, unit: 'phases' };
  const done = (IN_PROGRESS as readonly JobStatus[]).indexOf(status);
  return done < 0 ? null : { done, total: IN_PROGRESS.length, unit: 'phases' };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
