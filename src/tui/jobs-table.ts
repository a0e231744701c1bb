import type { TextProps } from 'ink';
import type { ReactElement } from 'react';
import type { JobStatus } from '../jobs/schema.ts';
import type { JobsSnapshot, WatchedJob } from '../jobs/watch.ts';
import { formatClock, formatCount, formatDuration, formatPerSecond, renderBar } from './figures.ts';
import { line, lines as linesOf, type TextSegment } from './line.ts';

const STATE_STYLES: Readonly<Record<JobStatus, TextProps>> = {
  queued: {},
  extracting: { color: 'cyan' },
  chunking: { color: 'cyan' },
  embedding: { color: 'cyan' },
  indexing: { color: 'cyan' },
  ready: { color: 'green' },
  failed: { color: 'red' },
  cancelled: { color: 'yellow' },
};

export function stateStyle(status: JobStatus): TextProps {
  return STATE_STYLES[status];
}

interface Column {
  readonly header: string;
  /** Return the column's width for a line width; undefined takes the rest, 0 hides the column. */
  readonly cells: (line: number) => number | undefined;
  readonly text: (job: WatchedJob, at: number, cells: number) => string;
  readonly style?: (job: WatchedJob) => TextProps;
  readonly isNumber?: boolean;
}

const COLUMNS: readonly Column[] = [
  { header: 'ID', cells: (line) => (line >= 130 ? 30 : 0), text: (job) => job.id, style: () => ({ dimColor: true }) },
  { header: 'FILE', cells: () => undefined, text: (job) => job.file_name },
  { header: 'KIND', cells: (line) => (line >= 100 ? 6 : 0), text: (job) => job.kind },
  { header: 'P', cells: (line) => (line >= 100 ? 2 : 0), text: (job) => String(job.priority), isNumber: true },
  { header: 'STATE', cells: () => 10, text: (job) => job.status, style: (job) => stateStyle(job.status) },
  {
    header: 'PROGRESS',
    cells: (line) => (line >= 160 ? 30 : line >= 100 ? 20 : 10),
    text: progressBar,
    style: (job) => stateStyle(job.status),
  },
  {
    header: 'DONE',
    cells: (line) => (line >= 100 ? 13 : 9),
    text: (job, _, cells) => progressText(job, cells),
    isNumber: true,
  },
  {
    header: 'RATE',
    cells: (line) => (line >= 72 ? 7 : 0),
    text: (job) => formatPerSecond(job.items_per_second),
    isNumber: true,
  },
  {
    header: 'ETA',
    cells: (line) => (line >= 72 ? 6 : 0),
    text: (job) => formatDuration(job.eta_seconds),
    isNumber: true,
  },
  { header: 'AGE', cells: () => 6, text: (job, at) => formatDuration(ageSeconds(job, at)), isNumber: true },
  { header: 'RETRY', cells: (line) => (line >= 160 ? 5 : 0), text: (job) => String(job.retry_count), isNumber: true },
  {
    header: 'WORKER',
    cells: (line) => (line >= 190 ? 30 : 0),
    text: (job) => job.worker_id ?? '-',
    style: () => ({ dimColor: true }),
  },
];

interface TableProps {
  readonly jobs: readonly WatchedJob[];
  readonly selectedId: string | null;
  readonly at: string;
  readonly columns: number;
  /** Number of lines for jobs, without the header. */
  readonly lines: number;
}

/** Render the jobs around the selected one under a header, in at most `lines` lines. */
export function jobsTable({ jobs, selectedId, at, columns, lines }: TableProps): ReactElement {
  const atMs = Date.parse(at);
  const shown = COLUMNS.map((column) => ({ ...column, width: column.cells(columns) })).filter(
    ({ width }) => width !== 0,
  );
  const selected = Math.max(
    0,
    jobs.findIndex((job) => job.id === selectedId),
  );
  const first = firstShown(selected, jobs.length, lines);
  const header = shown.map(({ header, width, isNumber }): TextSegment => {
    return { text: header, cells: width, isRight: isNumber, style: { bold: true } };
  });
  return linesOf('table', [
    line('header', [{ text: '', cells: 1 }, ...header]),
    ...jobs.slice(first, first + lines).map((job) => {
      const isSelected = job.id === selectedId;
      const cells = shown.map(({ width, text, style, isNumber }): TextSegment => {
        const own = { ...style?.(job), ...(isSelected ? { bold: true, dimColor: false } : {}) };
        return { text: text(job, atMs, width ?? 0), cells: width, isRight: isNumber, style: own };
      });
      return line(job.id, [{ text: isSelected ? '>' : '', cells: 1, style: { bold: true } }, ...cells]);
    }),
  ]);
}

/** Return the index of the first item to show, so that the selected one is visible, in the middle if possible. */
function firstShown(selected: number, total: number, lines: number): number {
  return Math.max(0, Math.min(selected - Math.floor(lines / 2), total - lines));
}

function progressBar({ status, progress, scheduled_at }: WatchedJob, at: number, cells: number): string {
  if (status === 'queued') {
    const wait = scheduled_at === null ? 0 : (Date.parse(scheduled_at) - at) / 1000;
    return wait > 0 ? `in ${formatDuration(wait)}` : '';
  }
  return progress === null ? '' : renderBar(progress.done, progress.total, cells);
}

function progressText({ status, progress, chunks_count }: WatchedJob, cells: number): string {
  if (status === 'ready' && chunks_count !== null) {
    const chunks = formatCount(chunks_count);
    return chunks.length + 7 <= cells ? `${chunks} chunks` : chunks;
  }
  if (progress === null || status === 'queued') return '-';
  if (progress.unit === 'phases') return `phase ${Math.min(progress.done + 1, progress.total)}/${progress.total}`;
  const all = `${formatCount(progress.done)}/${formatCount(progress.total)}`;
  return all.length <= cells ? all : `${progress.done}/${Math.round(progress.total / 1000)}k`;
}

/** Compute the time that a job has waited, has been running, or took. */
function ageSeconds({ created_at, started_at, completed_at }: WatchedJob, atMs: number): number {
  const end = completed_at === null ? atMs : Date.parse(completed_at);
  return (end - Date.parse(started_at ?? created_at)) / 1000;
}

/** Describe the end of a job in a few words. */
export function describeFinished(job: WatchedJob): string {
  const took = formatDuration(ageSeconds(job, 0));
  if (job.status === 'failed') {
    const where = job.failed_phase === null ? '' : `in ${job.failed_phase}: `;
    return `${where}${job.error_message ?? job.error_category ?? 'it failed'}`;
  }
  if (job.status === 'cancelled') return 'cancelled';
  if (job.progress?.unit === 'texts') return `${formatCount(job.progress.total)} texts in ${took}`;
  return `${formatCount(job.chunks_count ?? 0)} chunks in ${took}`;
}

/** Render a finished job on one line. */
export function finishedLine(job: WatchedJob, columns: number): ReactElement {
  return line(job.id, [
    { text: formatClock(job.completed_at ?? job.updated_at), cells: 8 },
    { text: job.status, cells: 9, style: stateStyle(job.status) },
    { text: job.file_name, cells: Math.max(10, Math.min(50, Math.floor(columns / 4))) },
    { text: describeFinished(job), style: { dimColor: job.status !== 'failed' } },
  ]);
}

const LIVE_STATES = ['queued', 'extracting', 'chunking', 'embedding', 'indexing'] as const;
const FINAL_STATES = ['ready', 'failed', 'cancelled'] as const;

/** Render `queued 1,240  embedding 3`. States without jobs are omitted, except `queued`. */
export function describeLive({ counts }: JobsSnapshot): string {
  return LIVE_STATES.filter((status) => status === 'queued' || counts[status] > 0)
    .map((status) => `${status} ${formatCount(counts[status])}`)
    .join('  ');
}

/** Render `ready 312  failed 4  cancelled 0  since 11:03:20`. */
export function describeDone({ counts, since }: JobsSnapshot): string {
  const states = FINAL_STATES.map((status) => `${status} ${formatCount(counts[status])}`).join('  ');
  return `${states}  since ${formatClock(since)}`;
}
