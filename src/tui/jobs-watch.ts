import { Static, useWindowSize } from 'ink';
import { createElement, type ReactElement, useReducer, useRef } from 'react';
import { isTerminal, type JobStatus } from '../jobs/schema.ts';
import type { JobsSelection, JobsSnapshot, WatchedJob } from '../jobs/watch.ts';
import { formatClock, formatCount, formatDuration, formatPerSecond } from './figures.ts';
import { jobDetails, jobsHelp } from './jobs-details.ts';
import { handleKey } from './jobs-keys.ts';
import { describeDone, describeLive, finishedLine, jobsTable } from './jobs-table.ts';
import {
  FILTERS,
  findNewest,
  findSelected,
  type JobsWatchProps,
  type Mode,
  type Notice,
  type State,
} from './jobs-watch-state.ts';
import { useKeyPresses } from './key-presses.ts';
import { Coloured, line, lines as linesOf, textLine } from './line.ts';

/** Lines around the table: two of counts, one of headers, one for messages, one of keys. */
const FRAME_LINES = 5;
/** Maximum share of the other lines for the table, in tenths, so that finished jobs remain visible above it. */
const TABLE_SHARE = 7;

/** Render a live table of jobs with keys to act on them. Finished jobs scroll up as permanent lines. */
export function JobsWatch(props: JobsWatchProps): ReactElement {
  const { snapshot, isColoured, selection } = props;
  const { columns, rows } = useWindowSize();
  const lines = Math.max(1, Math.floor(((rows - FRAME_LINES) * TABLE_SHARE) / 10));
  // Several keys may arrive together, and each must see the effect of the previous one, so don't use React state.
  const state = useRef<State>({ mode: { name: 'table' }, notice: null, cursor: { id: null, index: 0 } });
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const change = (part: Partial<State>) => {
    state.current = { ...state.current, ...part };
    redraw();
  };
  const { mode, notice } = state.current;
  const selected = findSelected(snapshot.jobs, state.current.cursor);
  const opened = [snapshot.open, ...snapshot.jobs].find((job) => job?.id === selection.openId) ?? null;

  const view = { props, lines, opened, change, current: () => state.current };
  useKeyPresses((key) => handleKey(key, view), props.hasKeys);

  const body = () => {
    if (mode.name === 'help') return jobsHelp();
    const isOpen = mode.name === 'details' || (mode.name === 'confirm' && mode.back === 'details');
    if (isOpen && opened === null) return textLine('gone', 'this job does not exist any more', { dimColor: true });
    if (isOpen && opened !== null) {
      return jobDetails({ job: opened, at: snapshot.at, lines: Math.max(1, rows - FRAME_LINES) });
    }
    if (selected === null) return textLine('none', describeNone(selection.status), { dimColor: true });
    return jobsTable({ jobs: snapshot.jobs, selectedId: selected.id, at: snapshot.at, columns, lines });
  };
  return createElement(
    Coloured.Provider,
    { value: isColoured },
    createElement(Static<WatchedJob | number>, {
      // Use a new element for each snapshot: it writes its lines once and keeps none of them, however long the watch
      // runs.
      key: `finished ${snapshot.sequence}`,
      items: [...snapshot.finished, ...(snapshot.finished_more > 0 ? [snapshot.finished_more] : [])],
      style: { width: '100%' },
      // biome-ignore lint/correctness/noChildrenProp: without JSX, a function as children is a property
      children: (item) => (typeof item === 'number' ? moreFinished(item) : finishedLine(item, columns)),
    }),
    linesOf('frame', [
      header(snapshot, props.title),
      body(),
      footer({ ...props, mode, notice, job: mode.name === 'details' ? opened : selected }),
    ]),
  );
}

function moreFinished(count: number): ReactElement {
  return textLine('more', `… and ${formatCount(count)} more`, { dimColor: true });
}

/** Render the header: live jobs and the time of the reading; finished jobs, their rate and the remaining time. */
function header(snapshot: JobsSnapshot, title: string): ReactElement {
  const { finished_per_second, eta_seconds } = snapshot;
  const rate = finished_per_second > 0 ? `${formatPerSecond(finished_per_second).replace('/s', '')} jobs/s` : '';
  const toGo = eta_seconds === null ? '' : `  about ${formatDuration(eta_seconds)} to go`;
  const live = `${title}  ${describeLive(snapshot)}`;
  return linesOf('header', [
    line('live', [
      { text: live, style: { bold: true } },
      { text: formatClock(snapshot.at), cells: 8 },
    ]),
    line('done', [{ text: describeDone(snapshot) }, { text: rate + toGo, cells: (rate + toGo).length }], 2),
  ]);
}

type FooterProps = Pick<JobsWatchProps, 'snapshot' | 'selection' | 'hasKeys'> & {
  mode: Mode;
  notice: Notice | null;
  /** Job on which keys act. */
  job: WatchedJob | null;
};

/** Render the footer: one line for messages and questions, one for the keys. */
function footer({ mode, notice, snapshot, selection, hasKeys, job }: FooterProps): ReactElement {
  const style = { color: notice?.isError || snapshot.trouble !== null ? 'red' : 'yellow' };
  return linesOf('footer', [
    textLine('message', messageOf(mode, notice, snapshot, selection), style),
    textLine('keys', hasKeys ? keysOf(mode, job, snapshot) : 'Ctrl-C quits', { dimColor: true }),
  ]);
}

function messageOf(mode: Mode, notice: Notice | null, snapshot: JobsSnapshot, selection: JobsSelection): string {
  const { trouble, jobs, live } = snapshot;
  if (mode.name === 'filter') {
    const choices = FILTERS.map((status, index) => {
      const name = status ?? 'all';
      return index === mode.choice ? `[${name}]` : name;
    });
    return `show: ${choices.join(' ')}`;
  }
  if (mode.name === 'confirm') {
    // The job may have changed since the key was pressed.
    const { status, file_name } = findNewest(snapshot, mode.job);
    // A long name may be cut, so put it last.
    if (isTerminal(status)) return `the job is ${status} already  ${file_name}`;
    const hint = status === 'queued' ? '' : ` It is ${status}: only F cancels it.`;
    return `cancel this job?${hint}  ${file_name}`;
  }
  if (trouble !== null) return `${trouble}; trying again`;
  if (notice !== null) return notice.text;
  if (selection.status !== null) return `only ${selection.status} jobs`;
  return live > jobs.length ? `the first ${formatCount(jobs.length)} of ${formatCount(live)} jobs` : '';
}

/** List the keys that currently have an effect. Offer only actions that the job allows. */
function keysOf(mode: Mode, job: WatchedJob | null, snapshot: JobsSnapshot): string {
  const act = job === null ? '' : isTerminal(job.status) ? 'r reprocess  ' : 'c cancel  ';
  switch (mode.name) {
    case 'filter':
      return 'left/right or a first letter: choose  enter: show  escape: no change';
    case 'confirm': {
      const { status } = findNewest(snapshot, mode.job);
      if (isTerminal(status)) return 'any key goes back';
      return `${status === 'queued' ? 'y cancel' : 'F cancel in progress'}  any other key: do not cancel`;
    }
    case 'help':
      return 'any key goes back';
    case 'details':
      return `q back  ${act}`.trimEnd();
    case 'table':
      return `q quit  ${job === null ? '' : 'up/down select  enter details  '}f filter  ${act}? help`;
  }
}

function describeNone(status: JobStatus | null): string {
  if (status === null) return 'no jobs are queued or in progress';
  return `no jobs in the state ${status}${isTerminal(status) ? ' in the last day' : ''}`;
}
