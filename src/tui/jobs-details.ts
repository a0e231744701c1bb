import { Box, Text, type TextProps } from 'ink';
import { createElement, type ReactElement, useContext } from 'react';
import type { WatchedJob } from '../jobs/watch.ts';
import { oneLine } from '../platform/printable.ts';
import { formatClock, formatCount, formatDuration, formatPerSecond, renderBar } from './figures.ts';
import { stateStyle } from './jobs-table.ts';
import { Coloured, line, lines as linesOf, textLine } from './line.ts';

const NAME_CELLS = 14;

interface DetailsProps {
  readonly job: WatchedJob;
  readonly at: string;
  readonly lines: number;
}

/** Render the details of one job: names and values, one per line. The error is wrapped. */
export function jobDetails({ job, at, lines }: DetailsProps): ReactElement {
  const rows = describeJob(job, at).map(([name, value]) => {
    if (name === 'error') return createElement(ErrorField, { key: name, text: value });
    const style = name === 'state' ? stateStyle(job.status) : {};
    return line(name, [
      { text: name, cells: NAME_CELLS, style: { bold: true } },
      { text: value, style },
    ]);
  });
  // Put the most important rows first, because a low screen shows only these.
  return linesOf('details', rows, lines);
}

function ErrorField({ text }: { readonly text: string }): ReactElement {
  const isColoured = useContext(Coloured);
  const part = (props: TextProps, value: string) => createElement(Text, isColoured ? props : {}, value);
  return createElement(
    Box,
    { gap: 1 },
    createElement(Box, { width: NAME_CELLS, flexShrink: 0 }, part({ bold: true }, 'error')),
    createElement(Box, { flexGrow: 1, flexShrink: 1, flexBasis: 0 }, part({ color: 'red' }, oneLine(text))),
  );
}

function describeJob(job: WatchedJob, at: string): [name: string, value: string][] {
  const moment = (iso: string | null) => {
    if (iso === null) return null;
    const seconds = (Date.parse(at) - Date.parse(iso)) / 1000;
    const distance = seconds < 0 ? `in ${formatDuration(-seconds)}` : `${formatDuration(seconds)} ago`;
    return `${formatClock(iso)}, ${distance}`;
  };
  const { progress } = job;
  const fields: [string, string | null][] = [
    ['file', job.file_name],
    ['state', job.status],
    ['error', job.error_message === null ? null : describeError(job)],
    [
      'progress',
      progress === null
        ? null
        : `${renderBar(progress.done, progress.total, 20)} ${formatCount(progress.done)} of ${formatCount(progress.total)} ${progress.unit}`,
    ],
    ['rate', job.items_per_second === null ? null : formatPerSecond(job.items_per_second)],
    ['to go', job.eta_seconds === null ? null : formatDuration(job.eta_seconds)],
    ['id', job.id],
    ['kind', `${job.kind}, priority ${job.priority}`],
    ['bucket', job.bucket_id],
    ['document', job.document_id],
    ['size', `${formatCount(job.file_size)} bytes${job.file_type === null ? '' : `, ${job.file_type}`}`],
    ['chunks', job.chunks_count === null ? null : formatCount(job.chunks_count)],
    ['attempts', job.retry_count === 0 ? null : `${job.retry_count} failed`],
    ['next attempt', job.status === 'queued' ? moment(job.scheduled_at) : null],
    ['worker', job.worker_id],
    ['lease ends', moment(job.lease_expires_at)],
    ['created', moment(job.created_at)],
    ['started', moment(job.started_at)],
    ['finished', moment(job.completed_at)],
    ['reprocesses', job.reprocess_of_job_id],
  ];
  return fields.filter((field): field is [string, string] => field[1] !== null);
}

function describeError({ status, failed_phase, error_category, error_message, retryable }: WatchedJob): string {
  const where = failed_phase === null ? '' : ` in ${failed_phase}`;
  const again = status === 'failed' ? (retryable ? '; it may be tried again' : '') : ', will be tried again';
  return `${error_message} (${error_category ?? 'unknown'}${where}${again})`;
}

const KEYS: readonly [key: string, what: string][] = [
  ['up, down, j, k', 'select a job; page up, page down, home, end go further'],
  ['enter', 'details of the job, with its error; q or escape goes back'],
  ['f or /', 'show only jobs in one state, also failed or ready ones'],
  ['c', 'cancel the job after a question; F cancels one in progress too'],
  ['r', 'reprocess a job that has finished'],
  ['q, Ctrl-C', 'quit'],
];

export function jobsHelp(): ReactElement {
  const keys = KEYS.map(([key, what]) =>
    line(key, [{ text: key, cells: NAME_CELLS, style: { bold: true } }, { text: what }]),
  );
  const note = 'Finished jobs scroll up and stay there. Leaving changes nothing.';
  return linesOf('help', [...keys, textLine('gap', ''), textLine('note', note, { dimColor: true })]);
}
