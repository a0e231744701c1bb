import { isTerminal } from '../jobs/schema.ts';
import type { WatchedJob } from '../jobs/watch.ts';
import { FILTERS, findNewest, findSelected, type JobsWatchProps, type State } from './jobs-watch-state.ts';

/** Part of a watch that its keys use. */
export interface JobsKeysView {
  readonly props: JobsWatchProps;
  readonly lines: number;
  /** Job whose details are shown. */
  readonly opened: WatchedJob | null;
  readonly current: () => State;
  readonly change: (part: Partial<State>) => void;
}

/** Handle one key press of a jobs watch. */
export function handleKey(key: string, view: JobsKeysView): void {
  const { props, change } = view;
  if (key === 'ctrl-c') {
    props.onLeave('interrupt');
    return;
  }
  const { mode } = view.current();
  change({ notice: null });
  switch (mode.name) {
    case 'help':
      change({ mode: { name: 'table' } });
      return;
    case 'confirm':
      change({ mode: { name: mode.back } });
      if (key !== 'y' && key !== 'F') {
        change({ notice: { text: 'not cancelled', isError: false } });
        return;
      }
      if (isTerminal(findNewest(props.snapshot, mode.job).status)) return;
      act(view, `cancelling ${mode.job.file_name}`, () => props.actions.cancel(mode.job, { force: key === 'F' }));
      return;
    case 'filter':
      if (key === 'escape') {
        change({ mode: { name: 'table' } });
        return;
      }
      if (key !== 'return') {
        change({ mode: { name: 'filter', choice: nextChoice(mode.choice, key) } });
        return;
      }
      change({ mode: { name: 'table' }, cursor: { id: null, index: 0 } });
      props.onSelect({ status: FILTERS[mode.choice] ?? null });
      return;
    case 'details':
      if (['escape', 'return', 'backspace', 'q'].includes(key)) {
        open(view, null);
        return;
      }
      handleJobKey(key, view, view.opened, 'details');
      return;
    case 'table':
      handleTableKey(key, view);
      return;
  }
}

function handleTableKey(key: string, view: JobsKeysView): void {
  const { props, change, lines } = view;
  const { snapshot, selection } = props;
  const selected = findSelected(snapshot.jobs, view.current().cursor);
  switch (key) {
    case 'q':
      props.onLeave('quit');
      return;
    case '?':
      change({ mode: { name: 'help' } });
      return;
    case 'f':
    case '/':
      change({ mode: { name: 'filter', choice: FILTERS.indexOf(selection.status) } });
      return;
    case 'return':
      if (selected !== null) open(view, selected);
      return;
    case 'upArrow':
    case 'k':
      move(view, (from) => from - 1);
      return;
    case 'downArrow':
    case 'j':
      move(view, (from) => from + 1);
      return;
    case 'pageUp':
      move(view, (from) => from - lines);
      return;
    case 'pageDown':
      move(view, (from) => from + lines);
      return;
    case 'home':
    case 'g':
      move(view, () => 0);
      return;
    case 'end':
    case 'G':
      move(view, () => snapshot.jobs.length - 1);
      return;
    default:
      handleJobKey(key, view, selected, 'table');
      return;
  }
}

function handleJobKey(key: string, view: JobsKeysView, job: WatchedJob | null, back: 'table' | 'details'): void {
  if (job === null) return;
  const hasEnded = isTerminal(job.status);
  const refuse = (text: string) => view.change({ notice: { text, isError: false } });
  if (key === 'c' && hasEnded) refuse(`the job is ${job.status} already; the key r reprocesses it`);
  else if (key === 'c') view.change({ mode: { name: 'confirm', job, back } });
  if (key === 'r' && !hasEnded) refuse(`the job is ${job.status}; it can be reprocessed when it has ended`);
  else if (key === 'r') act(view, `reprocessing ${job.file_name}`, () => view.props.actions.reprocess(job));
}

function move({ props, current, change }: JobsKeysView, to: (from: number) => number): void {
  const { jobs } = props.snapshot;
  const job = findSelected(jobs, current().cursor);
  const index = Math.max(0, Math.min(jobs.length - 1, to(job === null ? 0 : jobs.indexOf(job))));
  change({ cursor: { id: jobs[index]?.id ?? null, index } });
}

function act({ props, change }: JobsKeysView, description: string, work: () => Promise<string>): void {
  change({ notice: { text: `${description} …`, isError: false } });
  work()
    .then((text) => change({ notice: { text, isError: false } }))
    .catch((error: Error) => change({ notice: { text: error.message, isError: true } }))
    .finally(props.onRefresh);
}

function open({ props, change }: JobsKeysView, job: WatchedJob | null): void {
  change({ mode: { name: job === null ? 'table' : 'details' } });
  props.onSelect({ openId: job?.id ?? null });
}

/**
 * Return the next choice: left and right select the neighbours, a letter selects the next state that begins with it.
 */
function nextChoice(choice: number, key: string): number {
  const all = FILTERS.length;
  if (key === 'leftArrow') return (choice + all - 1) % all;
  if (key === 'rightArrow' || key === 'tab') return (choice + 1) % all;
  for (let step = 1; step <= all; step++) {
    const next = (choice + step) % all;
    if ((FILTERS[next] ?? 'all').startsWith(key.toLowerCase())) return next;
  }
  return choice;
}
