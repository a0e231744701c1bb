import { JOB_STATUSES, type JobStatus } from '../jobs/schema.ts';
import type { JobsSelection, JobsSnapshot, WatchedJob } from '../jobs/watch.ts';

/** User actions on a job. Each returns a message about its result, or throws an error with a message. */
export interface JobActions {
  cancel(job: WatchedJob, options: { force: boolean }): Promise<string>;
  reprocess(job: WatchedJob): Promise<string>;
}

export interface JobsWatchProps {
  readonly snapshot: JobsSnapshot;
  /** Title of the view, such as `jobs of acme`. */
  readonly title: string;
  readonly isColoured: boolean;
  /** True if keys can be read, because stdin is a terminal too. */
  readonly hasKeys: boolean;
  readonly actions: JobActions;
  /** Jobs to show in the next snapshots. */
  readonly selection: JobsSelection;
  readonly onSelect: (change: Partial<JobsSelection>) => void;
  readonly onRefresh: () => void;
  readonly onLeave: (how: 'quit' | 'interrupt') => void;
}

/** Current view, with its data. */
export type Mode =
  | { readonly name: 'table' | 'help' | 'details' }
  | { readonly name: 'filter'; readonly choice: number }
  | { readonly name: 'confirm'; readonly job: WatchedJob; readonly back: 'table' | 'details' };

/** Message to the user. */
export interface Notice {
  readonly text: string;
  readonly isError: boolean;
}

/** State of a watch between key presses. */
export interface State {
  readonly mode: Mode;
  readonly notice: Notice | null;
  /** Highlighted job and its index in the list. */
  readonly cursor: { readonly id: string | null; readonly index: number };
}

/** States that the list may be limited to; null for all unfinished jobs. */
export const FILTERS: readonly (JobStatus | null)[] = [null, ...JOB_STATUSES];

/** Find the newest copy of a job: the snapshot's, if it is there. */
export function findNewest({ jobs, open, finished }: JobsSnapshot, job: WatchedJob): WatchedJob {
  return [...jobs, ...finished, ...(open === null ? [] : [open])].find(({ id }) => id === job.id) ?? job;
}

/** Find the selected job; if it has left the list, the job in its place. */
export function findSelected(jobs: readonly WatchedJob[], cursor: State['cursor']): WatchedJob | null {
  const selected = jobs.find((job) => job.id === cursor.id);
  return selected ?? jobs[Math.min(cursor.index, jobs.length - 1)] ?? null;
}
