import type { JobsSelection, JobsSnapshot } from '../jobs/watch.ts';
import { readJsonLines } from '../operations/json-lines.ts';
import type { OperationInput } from '../operations/registry.ts';
import type { JobActions } from '../tui/jobs-watch-state.ts';
import { describeChanges, overview } from './job-changes.ts';
import { hasColours } from './output.ts';
import type { Session } from './session.ts';
import type { ScreenRun } from './show-on-screen.ts';

/** Running watch of the jobs of an organization. */
export interface JobsWatchRun {
  /** Title of the view, such as `jobs of acme`. */
  readonly title: string;
  /** End when no job is queued or in progress. */
  readonly untilDone: boolean;
  /** Read the snapshots. Call this once. @throws the signal's reason; AppError `server_stopped` (503) */
  snapshots(signal: AbortSignal): AsyncIterable<JobsSnapshot>;
  /** Change the selection, which triggers the next snapshot. */
  select(selection: JobsSelection): Promise<void>;
}

/** Start watching jobs. @throws AppError `bucket_not_found` (404), `invalid_request` (400) */
export async function beginWatch(
  session: Session,
  scope: OperationInput<'jobs.watch'>,
  { org, untilDone }: { readonly org: string; readonly untilDone: boolean },
): Promise<JobsWatchRun> {
  const { output, body } = await session.receive('jobs.watch', scope);
  return {
    title: `jobs of ${org}${output.bucket === null ? '' : ` in ${output.bucket}`}`,
    untilDone,
    snapshots: (signal) => readJsonLines<JobsSnapshot>(body, signal),
    async select({ status, openId: open }) {
      await session.call('jobs.select', { watch: output.watch, status, open });
    },
  };
}

/** Return one snapshot; with `untilDone`, the first one without live jobs. */
export async function watchOnce(run: JobsWatchRun, signal: AbortSignal): Promise<JobsSnapshot> {
  for await (const snapshot of run.snapshots(signal)) {
    if (!run.untilDone || isDone(snapshot)) return snapshot;
  }
  throw new Error('the watch ended by itself');
}

/** Print one line per change, until all jobs are done or the signal aborts. Use this without a terminal. */
export async function watchInLines(
  run: JobsWatchRun,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let previous: JobsSnapshot | null = null;
  for await (const snapshot of run.snapshots(signal)) {
    for (const line of describeChanges(previous, snapshot)) print(line);
    if (run.untilDone && isDone(snapshot)) return;
    previous = snapshot;
  }
}

/**
 * Show a live table on a terminal, until the user quits, all jobs are done, or the signal aborts.
 * @returns a line with the final counts
 * @throws AppError `interrupted` (499) on Ctrl-C
 */
export async function watchOnScreen(
  run: JobsWatchRun & { readonly actions: JobActions; readonly selection: JobsSelection },
  terminal: ScreenRun<JobsSnapshot>['terminal'],
  signal: AbortSignal,
): Promise<string> {
  const { createElement } = await import('react');
  const { JobsWatch } = await import('../tui/jobs-watch.ts');
  const { showOnScreen } = await import('./show-on-screen.ts');
  const { title, actions } = run;
  let { selection } = run;
  // A finished watch reports its own error.
  const select = () => void run.select(selection).catch(() => undefined);
  const last = await showOnScreen({
    terminal,
    signal,
    isAlternate: false,
    snapshots: (ended) => run.snapshots(ended),
    isLast: (snapshot: JobsSnapshot) => run.untilDone && isDone(snapshot),
    draw: (snapshot, { leave, redraw }) =>
      createElement(JobsWatch, {
        snapshot,
        title,
        actions,
        selection,
        isColoured: hasColours(terminal.stdout),
        hasKeys: terminal.stdin.isTTY,
        onSelect(change) {
          selection = { ...selection, ...change };
          select();
          redraw();
        },
        onRefresh: select,
        onLeave: leave,
      }),
  });
  return last === null ? '' : overview(last);
}

function isDone(snapshot: JobsSnapshot): boolean {
  return snapshot.live === 0 && snapshot.trouble === null;
}
