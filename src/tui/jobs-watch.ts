import { Static, useWindowSize } from 'ink';
import { createElement, type ReactElement, useReducer, useRef } from 'react';
import { isTerminal, JOB_STATUSES, type JobStatus } from '../jobs/schema.ts';
import type { JobsSelection, JobsSnapshot, WatchedJob } from '../jobs/watch.ts';
import { formatClock, formatCount, formatDuration, formatPerSecond } from './figures.ts';
import { jobDetails, jobsHelp } from './jobs-details.ts';
import { describeDone, describeLive, finishedLine, jobsTable } from './jobs-table.ts';
import { useKeyPresses } from './key-presses.ts';
import { Coloured, line, lines as linesOf, textLine } from './line.ts';

/** What a person may do to a job. Each returns the words that say how it went, or throws an error with such words. */
export interface JobActions {
  cancel(job: WatchedJob, options: { force: boolean }): Promise<string>;
  reprocess(job: WatchedJob): Promise<string>;
}

export interface JobsWatchProps {
  readonly snapshot: JobsSnapshot;
  /** Whose jobs these are: `jobs of acme`. */
  readonly title: string;
  readonly isColoured: boolean;
  /** Whether keys can be read: stdin is a terminal too. */
  readonly hasKeys: boolean;
  readonly actions: JobActions;
  /** What is looked at now; the next snapshots are to show that. */
  readonly look: JobsSelection;
  readonly onLook: (change: Partial<JobsSelection>) => void;
  readonly onRefresh: () => void;
  readonly onLeave: (how: 'quit' | 'interrupt') => void;
}

type Mode =
  | { readonly name: 'table' | 'help' | 'details' }
  | { readonly name: 'filter'; readonly choice: number }
  | { readonly name: 'confirm'; readonly job: WatchedJob; readonly back: 'table' | 'details' };

interface Notice {
  readonly text: string;
  readonly isError: boolean;
}

interface State {
  readonly mode: Mode;
  readonly notice: Notice | null;
  /** The job that was selected, and where it was. */
  readonly selection: { readonly id: string | null; readonly index: number };
}

const FILTERS: readonly (JobStatus | null)[] = [null, ...JOB_STATUSES];
/** Lines around the table: two of counts, one of headers, one for messages, one of keys. */
const FRAME_LINES = 5;
/** Of the lines that are left, so many in 10 at most are for the table: finished jobs are to be seen above it. */
const TABLE_SHARE = 7;
const TABLE_KEYS = 'up/down select  enter details  f filter  c cancel  r reprocess  ? help  q quit';
const DETAILS_KEYS = 'c cancel  r reprocess  q back';

/** A live table of jobs with keys to act on them; jobs that finish go up as lines that stay. */
export function JobsWatch(props: JobsWatchProps): ReactElement {
  const { snapshot, isColoured, look } = props;
  const { columns, rows } = useWindowSize();
  const lines = Math.max(1, Math.floor(((rows - FRAME_LINES) * TABLE_SHARE) / 10));
  // Of keys that come at once, each must find what the one before it did, so the state is not React's.
  const state = useRef<State>({ mode: { name: 'table' }, notice: null, selection: { id: null, index: 0 } });
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const change = (part: Partial<State>) => {
    state.current = { ...state.current, ...part };
    redraw();
  };
  const { mode, notice } = state.current;
  const selectedNow = () => findSelected(snapshot.jobs, state.current.selection);
  const selected = selectedNow();
  const opened = [snapshot.open, ...snapshot.jobs].find((job) => job?.id === look.openId) ?? null;

  const move = (to: (from: number) => number) => {
    const job = selectedNow();
    const index = Math.max(0, Math.min(snapshot.jobs.length - 1, to(job === null ? 0 : snapshot.jobs.indexOf(job))));
    change({ selection: { id: snapshot.jobs[index]?.id ?? null, index } });
  };
  const act = (doing: string, work: () => Promise<string>) => {
    change({ notice: { text: `${doing} …`, isError: false } });
    work()
      .then((text) => change({ notice: { text, isError: false } }))
      .catch((error: Error) => change({ notice: { text: error.message, isError: true } }))
      .finally(props.onRefresh);
  };
  const open = (job: WatchedJob | null) => {
    change({ mode: { name: job === null ? 'table' : 'details' } });
    props.onLook({ openId: job?.id ?? null });
  };
  const onJobKey = (press: string, job: WatchedJob | null, back: 'table' | 'details') => {
    if (job === null) return;
    if (press === 'c') change({ mode: { name: 'confirm', job, back } });
    if (press === 'r') act(`reprocessing ${job.file_name}`, () => props.actions.reprocess(job));
  };
  const onPress = (press: string) => {
    if (press === 'ctrl-c') return props.onLeave('interrupt');
    const { mode } = state.current;
    change({ notice: null });
    switch (mode.name) {
      case 'help':
        return change({ mode: { name: 'table' } });
      case 'confirm':
        change({ mode: { name: mode.back } });
        if (press !== 'y' && press !== 'F') return change({ notice: { text: 'not cancelled', isError: false } });
        return act(`cancelling ${mode.job.file_name}`, () => props.actions.cancel(mode.job, { force: press === 'F' }));
      case 'filter':
        if (press === 'escape') return change({ mode: { name: 'table' } });
        if (press !== 'return') return change({ mode: { name: 'filter', choice: nextChoice(mode.choice, press) } });
        change({ mode: { name: 'table' }, selection: { id: null, index: 0 } });
        return props.onLook({ status: FILTERS[mode.choice] ?? null });
      case 'details':
        if (['escape', 'return', 'backspace', 'q'].includes(press)) return open(null);
        return onJobKey(press, opened, 'details');
      case 'table':
        return onTablePress(press);
    }
  };
  const onTablePress = (press: string) => {
    switch (press) {
      case 'q':
        return props.onLeave('quit');
      case '?':
        return change({ mode: { name: 'help' } });
      case 'f':
      case '/':
        return change({ mode: { name: 'filter', choice: FILTERS.indexOf(look.status) } });
      case 'return':
        return selectedNow() === null ? undefined : open(selectedNow());
      case 'upArrow':
      case 'k':
        return move((from) => from - 1);
      case 'downArrow':
      case 'j':
        return move((from) => from + 1);
      case 'pageUp':
        return move((from) => from - lines);
      case 'pageDown':
        return move((from) => from + lines);
      case 'home':
      case 'g':
        return move(() => 0);
      case 'end':
      case 'G':
        return move(() => snapshot.jobs.length - 1);
      default:
        return onJobKey(press, selectedNow(), 'table');
    }
  };
  useKeyPresses(onPress, props.hasKeys);

  const body = () => {
    if (mode.name === 'help') return jobsHelp();
    const isOpen = mode.name === 'details' || (mode.name === 'confirm' && mode.back === 'details');
    if (isOpen && opened === null) return textLine('gone', 'there is no such job any more', { dimColor: true });
    if (isOpen && opened !== null) {
      return jobDetails({ job: opened, at: snapshot.at, lines: Math.max(1, rows - FRAME_LINES) });
    }
    if (selected === null) return textLine('none', describeNone(look.status), { dimColor: true });
    return jobsTable({ jobs: snapshot.jobs, selectedId: selected.id, at: snapshot.at, columns, lines });
  };
  return createElement(
    Coloured.Provider,
    { value: isColoured },
    createElement(Static<WatchedJob | number>, {
      // A new one for each snapshot: it writes its lines once and forgets them, however long the watch goes on.
      key: `finished ${snapshot.sequence}`,
      items: [...snapshot.finished, ...(snapshot.finished_more > 0 ? [snapshot.finished_more] : [])],
      style: { width: '100%' },
      // biome-ignore lint/correctness/noChildrenProp: without JSX, a function as children is a property
      children: (item) => (typeof item === 'number' ? moreFinished(item) : finishedLine(item, columns)),
    }),
    linesOf('frame', [header(snapshot, props.title), body(), footer({ ...props, mode, notice })]),
  );
}

function moreFinished(count: number): ReactElement {
  return textLine('more', `… and ${formatCount(count)} more`, { dimColor: true });
}

/** What there is, and when that was read; what is done, and how it goes on. */
function header(snapshot: JobsSnapshot, title: string): ReactElement {
  const { finished_per_second, eta_seconds } = snapshot;
  const pace = finished_per_second > 0 ? `${formatPerSecond(finished_per_second).replace('/s', '')} jobs/s` : '';
  const toGo = eta_seconds === null ? '' : `  about ${formatDuration(eta_seconds)} to go`;
  const live = `${title}  ${describeLive(snapshot)}`;
  return linesOf('header', [
    line('live', [
      { text: live, style: { bold: true } },
      { text: formatClock(snapshot.at), cells: 8 },
    ]),
    line('done', [{ text: describeDone(snapshot) }, { text: pace + toGo, cells: (pace + toGo).length }], 2),
  ]);
}

type FooterProps = Pick<JobsWatchProps, 'snapshot' | 'look' | 'hasKeys'> & { mode: Mode; notice: Notice | null };

/** One line for messages and questions, one that says which keys there are. */
function footer({ mode, notice, snapshot, look, hasKeys }: FooterProps): ReactElement {
  const style = { color: notice?.isError || snapshot.trouble !== null ? 'red' : 'yellow' };
  return linesOf('footer', [
    textLine('message', messageOf(mode, notice, snapshot, look), style),
    textLine('keys', hasKeys ? keysOf(mode) : 'Ctrl-C ends this', { dimColor: true }),
  ]);
}

function messageOf(
  mode: Mode,
  notice: Notice | null,
  { trouble, jobs, live }: JobsSnapshot,
  look: JobsSelection,
): string {
  if (mode.name === 'filter') {
    const choices = FILTERS.map((status, index) => {
      const name = status ?? 'all';
      return index === mode.choice ? `[${name}]` : name;
    });
    return `show: ${choices.join(' ')}`;
  }
  if (mode.name === 'confirm') {
    const { status, file_name } = mode.job;
    // A long name is cut, so it comes last.
    const doubt = status === 'queued' ? '' : ` It is ${status}: only F cancels it.`;
    return `cancel this job?${doubt}  ${file_name}`;
  }
  if (trouble !== null) return `${trouble}; trying again`;
  if (notice !== null) return notice.text;
  if (look.status !== null) return `only ${look.status}`;
  return live > jobs.length ? `the first ${formatCount(jobs.length)} of ${formatCount(live)}` : '';
}

function keysOf(mode: Mode): string {
  switch (mode.name) {
    case 'filter':
      return 'left/right or a first letter: choose  enter: show  escape: leave as it is';
    case 'confirm':
      return 'y cancel  F cancel even while it is worked on  any other key: leave it';
    case 'help':
      return 'any key leads back';
    case 'details':
      return DETAILS_KEYS;
    case 'table':
      return TABLE_KEYS;
  }
}

function describeNone(status: JobStatus | null): string {
  if (status === null) return 'no jobs wait or are worked on';
  return `no jobs are ${status}${isTerminal(status) ? ' of the last day' : ''}`;
}

/** The job that was selected; where it has left the list, the one that took its place. */
function findSelected(jobs: readonly WatchedJob[], selection: State['selection']): WatchedJob | null {
  const same = jobs.find((job) => job.id === selection.id);
  return same ?? jobs[Math.min(selection.index, jobs.length - 1)] ?? null;
}

/** Left and right go to the neighbours, a letter to the next state that begins with it. */
function nextChoice(choice: number, press: string): number {
  const all = FILTERS.length;
  if (press === 'leftArrow') return (choice + all - 1) % all;
  if (press === 'rightArrow' || press === 'tab') return (choice + 1) % all;
  for (let step = 1; step <= all; step++) {
    const next = (choice + step) % all;
    if ((FILTERS[next] ?? 'all').startsWith(press.toLowerCase())) return next;
  }
  return choice;
}
