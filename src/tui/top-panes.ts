import type { TextProps } from 'ink';
import type { ReactElement } from 'react';
import type { QueueDepth, WorkerLoad } from '../jobs/queue-store.ts';
import type { QueueLoad } from '../jobs/queues.ts';
import {
  formatCount,
  formatDuration,
  formatLatency,
  formatPerSecond,
  formatShare,
  renderSparkline,
} from './figures.ts';
import { line, lines as linesOf, type TextSegment, textLine } from './line.ts';
import type { ChannelLoad, ServerLoad, UpstreamLoad } from './server-load.ts';

/** Time without a heartbeat after which a worker is probably gone. Workers send several during a lease. */
const SILENT_SECONDS_MAX = 60;

export interface Column<Item> {
  readonly header: string;
  /** Cells of the column; undefined takes the rest, 0 hides the column. */
  readonly cells: number | undefined;
  readonly text: (item: Item) => string;
  readonly style?: (item: Item) => TextProps;
  readonly isNumber?: boolean;
}

/** Render items as lines under a header, as many as fit. The last line shows the number of omitted items. */
export function pane<Item>(
  name: string,
  items: readonly Item[],
  columns: readonly Column<Item>[],
  room: number,
  none: string,
): ReactElement {
  const shown = columns.filter(({ cells }) => cells !== 0);
  const header = shown.map(({ header, cells, isNumber }): TextSegment => {
    return { text: header, cells, isRight: isNumber, style: { bold: true } };
  });
  const fitting = items.slice(0, items.length <= room || room < 2 ? room : room - 1);
  const hidden = items.length - fitting.length;
  return linesOf(name, [
    line('header', header),
    ...fitting.map((item, index) =>
      line(
        `${index}`,
        shown.map(({ cells, text, style, isNumber }): TextSegment => {
          return { text: text(item), cells, isRight: isNumber, style: style?.(item) };
        }),
      ),
    ),
    items.length === 0 ? textLine('none', none, { dimColor: true }) : null,
    hidden > 0 && room > 1 ? textLine('more', `… and ${formatCount(hidden)} more`, { dimColor: true }) : null,
  ]);
}

export function queuePane({ queues }: QueueLoad, columns: number, room: number): ReactElement {
  const table: Column<QueueDepth>[] = [
    { header: 'QUEUE', cells: 10, text: (queue) => queue.kind },
    { header: 'PRIORITY', cells: 8, text: (queue) => String(queue.priority), isNumber: true },
    { header: 'QUEUED', cells: 9, text: (queue) => formatCount(queue.queued), isNumber: true },
    { header: 'DELAYED', cells: 8, text: (queue) => formatCount(queue.delayed), isNumber: true },
    { header: 'IN PROGRESS', cells: 11, text: (queue) => formatCount(queue.in_progress), isNumber: true },
    { header: 'OLDEST', cells: 7, text: (queue) => formatDuration(queue.oldest_seconds), isNumber: true },
    { header: '', cells: columns > 60 ? undefined : 0, text: () => '' },
  ];
  return pane('queues', queues, table, room, 'no jobs are queued or in progress');
}

export function workerPane({ workers }: QueueLoad, columns: number, room: number): ReactElement {
  const table: Column<WorkerLoad>[] = [
    { header: 'WORKER', cells: columns >= 76 ? 30 : 20, text: (worker) => worker.id },
    { header: 'KIND', cells: columns >= 90 ? 11 : 6, text: (worker) => worker.kind ?? 'gone', style: warningStyle },
    { header: 'JOBS', cells: 5, text: (worker) => formatCount(worker.jobs), isNumber: true },
    { header: 'LEASE', cells: 6, text: describeLease, style: warningStyle, isNumber: true },
    {
      header: 'SEEN',
      cells: 6,
      text: (worker) => formatDuration(worker.silent_seconds),
      style: warningStyle,
      isNumber: true,
    },
    { header: 'PID', cells: columns >= 90 ? 8 : 0, text: (worker) => String(worker.pid ?? '-'), isNumber: true },
    { header: 'HOST', cells: undefined, text: (worker) => worker.host?.split('/')[0] ?? '-' },
  ];
  return pane('workers', workers, table, room, 'no worker is known');
}

/** Describe the time until the first lease of a worker ends. */
function describeLease({ lease_seconds }: WorkerLoad): string {
  if (lease_seconds === null) return '-';
  return lease_seconds < 0 ? 'ended' : formatDuration(lease_seconds);
}

function warningStyle({ kind, silent_seconds, lease_seconds }: WorkerLoad): TextProps {
  const isGone = kind === null || (silent_seconds ?? 0) > SILENT_SECONDS_MAX || (lease_seconds ?? 0) < 0;
  return isGone ? { color: 'red' } : {};
}

export function upstreamPane(server: ServerLoad, columns: number, room: number): ReactElement {
  const spark = Math.max(0, Math.min(30, columns - 75));
  const table: Column<UpstreamLoad>[] = [
    { header: 'UPSTREAM', cells: undefined, text: (upstream) => upstream.provider },
    { header: 'CALLS', cells: 7, text: (upstream) => formatPerSecond(upstream.calls_per_second), isNumber: true },
    {
      header: 'ERRORS',
      cells: 6,
      text: (upstream) => formatShare(upstream.error_rate),
      style: errorStyle,
      isNumber: true,
    },
    { header: 'P50', cells: 6, text: (upstream) => formatLatency(upstream.p50_ms), isNumber: true },
    { header: 'P95', cells: 6, text: (upstream) => formatLatency(upstream.p95_ms), isNumber: true },
    { header: 'NOW', cells: 4, text: (upstream) => formatCount(upstream.in_flight), isNumber: true },
    { header: 'QUEUE', cells: 6, text: (upstream) => formatCount(upstream.queued_texts), isNumber: true },
    { header: 'BREAKER', cells: 9, text: (upstream) => upstream.breaker, style: breakerStyle },
    {
      header: 'P95 OF THE LAST MINUTE'.slice(0, spark),
      cells: spark < 12 ? 0 : spark,
      text: (upstream) => renderSparkline(upstream.history_p95_ms, spark),
      style: () => ({ color: 'cyan' }),
    },
  ];
  return pane('upstreams', server.upstreams, table, room, server.trouble ?? 'no calls to providers yet');
}

/** Render the pane of messaging channels, which the screen shows if there are any. */
export function channelPane({ channels }: ServerLoad, columns: number, room: number): ReactElement {
  const isRed = (value: number | null): TextProps => ((value ?? 0) > 0 ? { color: 'red' } : {});
  const table: Column<ChannelLoad>[] = [
    { header: 'CHANNEL', cells: columns > 70 ? undefined : 16, text: (channel) => channel.bot },
    {
      header: 'DELIVERED',
      cells: 9,
      text: (channel) => formatPerSecond(channel.deliveries_per_second),
      isNumber: true,
    },
    { header: 'LIMITED', cells: 7, text: (channel) => formatShare(channel.limited_rate), isNumber: true },
    { header: 'REFUSED', cells: 7, text: (channel) => formatPerSecond(channel.refusals_per_second), isNumber: true },
    {
      header: 'FAULTS',
      cells: 7,
      text: (channel) => formatPerSecond(channel.faults_per_second),
      style: (channel) => isRed(channel.faults_per_second),
      isNumber: true,
    },
    { header: 'P50', cells: 6, text: (channel) => formatLatency(channel.p50_ms), isNumber: true },
    { header: 'P95', cells: 6, text: (channel) => formatLatency(channel.p95_ms), isNumber: true },
  ];
  return pane('channels', channels, table, room, '');
}

function errorStyle({ error_rate }: UpstreamLoad): TextProps {
  return (error_rate ?? 0) > 0 ? { color: 'red' } : {};
}

function breakerStyle({ breaker }: UpstreamLoad): TextProps {
  return breaker === 'closed' ? {} : { color: breaker === 'open' ? 'red' : 'yellow' };
}

/**
 * Allot lines to panes. Each gets the lines that it wants if they fit, otherwise an equal share plus lines that other
 * panes don't need. Each gets at least 1.
 */
export function allotLines(wanted: readonly number[], room: number): number[] {
  const given = wanted.map(() => 1);
  for (let left = room - given.length; left > 0; left--) {
    const needy = wanted.reduce((best, want, index) => {
      if ((given[index] ?? 0) >= want) return best;
      return best === -1 || (given[index] ?? 0) < (given[best] ?? 0) ? index : best;
    }, -1);
    if (needy === -1) break;
    given[needy] = (given[needy] ?? 0) + 1;
  }
  return given;
}
