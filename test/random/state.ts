import type { CallerName, Patch, Where } from './operations.ts';

/** Auth levels of the callers: `high` is the operator, `low` a key without a user. */
export const AUTH_LEVELS: Readonly<Record<CallerName, number>> = { high: 10, low: 3 };

/** End of a job by its row once no job is in progress; `gone` if the row was deleted. */
export type JobEnd = 'ready' | 'failed' | 'cancelled' | 'gone';
export type JobEnds = (job: string) => JobEnd;

/** Possible state of a document. */
export interface State {
  readonly exists: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly level: number;
  readonly scope: string | null;
  readonly searchable: boolean;
  /** True if it has chunks that searches may find. */
  readonly isActive: boolean;
  /** Status by the API; `working` stands for queued and processing. */
  readonly status: 'working' | 'ready' | 'failed';
  /** Jobs of the document; true while they are unfinished. */
  readonly jobs: Readonly<Record<string, boolean>>;
}

/** State of a document, or null before its upload. */
export type Possible = State | null;

export function isSeen(state: Possible, caller: CallerName): state is State {
  if (state === null || !state.exists || state.level > AUTH_LEVELS[caller]) return false;
  return caller === 'high' || state.scope === null || state.scope === 'common';
}

export function isFound(state: Possible, caller: CallerName): state is State {
  return isSeen(state, caller) && state.searchable && state.isActive;
}

export function matches(where: Where, state: State): boolean {
  const team = state.metadata['team'];
  switch (where.kind) {
    case 'group':
      return team !== undefined && (team === where.group) !== where.negated;
    case 'no group':
      return team === undefined;
    case 'level above':
      return state.level > where.level;
    case 'searchable':
      return state.searchable === where.searchable && team === where.group;
  }
}

export function openJobs(state: State): string[] {
  return Object.keys(state.jobs).filter((id) => state.jobs[id]);
}

export function endJobs(state: State, ids: readonly string[]): State {
  return { ...state, jobs: { ...state.jobs, ...Object.fromEntries(ids.map((id) => [id, false])) } };
}

/** Update the status after a job ended without a result. */
export function settleStatus(state: State): State {
  if (!state.exists) return state;
  if (state.isActive) return { ...state, status: 'ready' };
  return openJobs(state).length > 0 ? state : { ...state, status: 'failed' };
}

export interface Change {
  readonly caller: CallerName;
  readonly metadata: Patch;
  readonly level: number | null;
  readonly searchable: boolean | null;
  readonly reindex: boolean;
}

/** Return the effect of an edit on a document that its caller sees, or null for no change. */
export function planChange(state: State, change: Change): { after: State; isReindexed: boolean } | null {
  const { scope: scopePatch, ...patch } = change.metadata;
  const merged = Object.entries({ ...state.metadata, ...patch });
  const metadata = Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
  const level = change.level === null ? state.level : Math.min(change.level, AUTH_LEVELS[change.caller]);
  const scope = scopePatch === undefined ? state.scope : scopePatch;
  const searchable = change.searchable ?? state.searchable;
  const edited: State = { ...state, metadata, level, scope, searchable };
  const isChanged = keyOf(edited) !== keyOf(state);
  const isReindexed = change.reindex && change.searchable !== false && searchable;
  if (!isReindexed && !isChanged) return null;
  const dropsVectors = isReindexed || (state.searchable && !searchable);
  return {
    after: {
      ...edited,
      isActive: state.isActive && !dropsVectors,
      status: isReindexed ? 'working' : state.status,
    },
    isReindexed,
  };
}

/** Return a key that is equal for equal states. */
export function keyOf(state: Possible): string {
  if (state === null) return '-';
  const sorted = (record: object) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({ ...state, metadata: sorted(state.metadata), jobs: sorted(state.jobs) });
}

function distinct(states: readonly Possible[]): Possible[] {
  return [...new Map(states.map((state) => [keyOf(state), state])).values()];
}

/**
 * Return the states that a document may reach by its jobs alone, whose ends are known: after none, some or all of them.
 */
export function letJobsRun(states: readonly Possible[], ends: JobEnds, isBad: boolean): Possible[] {
  const found = new Map<string, Possible>();
  const queue = [...states];
  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    const key = keyOf(state);
    if (found.has(key)) continue;
    found.set(key, state);
    if (state !== null) queue.push(...afterOneJob(state, ends, isBad));
  }
  return [...found.values()];
}

function afterOneJob(state: State, ends: JobEnds, isBad: boolean): State[] {
  const next: State[] = [];
  const open = openJobs(state);
  if (state.exists && !state.isActive && open.length > 0) next.push({ ...state, status: 'working' });
  for (const id of open) {
    const end = ends(id);
    const ended = endJobs(state, [id]);
    if (!state.exists) {
      if (end !== 'ready') next.push(ended);
      continue;
    }
    // A deleted job had ended before, with an unknown result.
    if (end === 'ready' || (end === 'gone' && !isBad)) {
      // A document that is not searchable gets no vectors.
      next.push({ ...ended, isActive: state.searchable, status: 'ready' });
    }
    if (end === 'failed' || (end === 'gone' && isBad)) next.push(settleStatus(ended));
  }
  return next;
}

/** Effect of an answered operation on one document: its possible states afterwards, none if the answer does not fit. */
export type Event = (state: Possible, ends: JobEnds) => readonly Possible[];

/** Return the possible states of a document after concurrent operations, each of which took effect at one moment. */
export function afterAll(
  states: readonly Possible[],
  events: readonly Event[],
  ends: JobEnds,
  isBad: boolean,
): Possible[] {
  const reached: Possible[][] = [letJobsRun(states, ends, isBad)];
  for (let done = 1; done < 2 ** events.length; done++) {
    const next = events.flatMap((event, nth) => {
      const bit = 2 ** nth;
      return (done & bit) === 0 ? [] : (reached[done ^ bit] as Possible[]).flatMap((state) => event(state, ends));
    });
    reached.push(letJobsRun(distinct(next), ends, isBad));
  }
  return reached.at(-1) as Possible[];
}
