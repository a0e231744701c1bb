import { createElement } from 'react';
import { type JobsSelector, type JobsSnapshot, type WatchOptions, watchJobs } from '../jobs/watch.ts';
import type { Sql } from '../platform/postgres.ts';
import { JobsWatch } from '../tui/jobs-watch.ts';
import type { JobActions } from '../tui/jobs-watch-state.ts';
import { describeChanges, overview } from './job-changes.ts';
import { hasColours } from './output.ts';
import { type ScreenRun, showOnScreen } from './show-on-screen.ts';

export interface JobsWatchRun extends WatchOptions {
  readonly sql: Sql;
  readonly orgId: string;
  /** Title of the view, such as `jobs of acme`. */
  readonly title: string;
  readonly selector: JobsSelector;
  /** End when no job is queued or in progress any more. */
  readonly untilDone: boolean;
}

/** Return one snapshot; with `untilDone` the first one without live jobs. */
export async function watchOnce(run: JobsWatchRun): Promise<JobsSnapshot> {
  for await (const snapshot of watchJobs(run.sql, run.orgId, run)) {
    if (!run.untilDone || isDone(snapshot)) return snapshot;
  }
  throw new Error('the watch ended by itself');
}

/** Print one line for each change, until all jobs are done or the signal is aborted. Used without a terminal. */
export async function watchInLines(run: JobsWatchRun, print: (line: string) => void): Promise<void> {
  let previous: JobsSnapshot | null = null;
  for await (const snapshot of watchJobs(run.sql, run.orgId, run)) {
    for (const line of describeChanges(previous, snapshot)) print(line);
    if (run.untilDone && isDone(snapshot)) return;
    previous = snapshot;
  }
}

/**
 * Show a live table on a terminal, until the user leaves it, all jobs are done, or the signal is aborted.
 *
 * @returns a line with the counts at the end
 * @throws AppError `interrupted` (499) on Ctrl-C
 */
export async function watchOnScreen(
  run: JobsWatchRun & { readonly actions: JobActions },
  terminal: ScreenRun<JobsSnapshot>['terminal'],
): Promise<string> {
  const { selector, title, actions, signal } = run;
  const last = await showOnScreen({
    ...{ terminal, signal, isAlternate: false },
    snapshots: (signal) => watchJobs(run.sql, run.orgId, { ...run, signal }),
    isLast: (snapshot: JobsSnapshot) => run.untilDone && isDone(snapshot),
    draw: (snapshot, { leave, redraw }) =>
      createElement(JobsWatch, {
        ...{ snapshot, title, actions, selection: selector.selection },
        isColoured: hasColours(terminal.stdout),
        hasKeys: terminal.stdin.isTTY,
        onSelect(change) {
          selector.selection = { ...selector.selection, ...change };
          redraw();
        },
        onRefresh: () => selector.refresh(),
        onLeave: leave,
      }),
  });
  return last === null ? '' : overview(last);
}

function isDone(snapshot: JobsSnapshot): boolean {
  return snapshot.live === 0 && snapshot.trouble === null;
}
