import { Box, useWindowSize } from 'ink';
import { createElement, type ReactElement } from 'react';
import type { QueueLoad } from '../jobs/queues.ts';
import { type CalibrationLoad, calibrationPane } from './calibration-pane.ts';
import { formatClock, formatLatency, formatPerSecond, formatShare, renderSparkline } from './figures.ts';
import { useKeyPresses } from './key-presses.ts';
import { Coloured, line, lines as linesOf, textLine } from './line.ts';
import type { ServerLoad } from './server-load.ts';
import { allotLines, channelPane, queuePane, upstreamPane, workerPane } from './top-panes.ts';

/** State of an installation at one moment: queues and workers from the database, one server from its metrics. */
export interface TopSnapshot extends QueueLoad {
  readonly object: 'top_snapshot';
  /** Message if the database didn't answer. Queues and workers are then from the last reading. */
  readonly trouble: string | null;
  /** Models whose calibration is in progress or failed. */
  readonly calibrations: readonly CalibrationLoad[];
  readonly server: ServerLoad;
}

export interface TopProps {
  readonly snapshot: TopSnapshot;
  readonly isColoured: boolean;
  readonly hasKeys: boolean;
  readonly onLeave: (how: 'quit' | 'interrupt') => void;
}

/** Minimum width for two columns. */
const WIDE_COLUMNS = 150;
const GAP_COLUMNS = 2;
const LABEL_CELLS = 10;
const FIGURES_CELLS = 46;
const SPARK_CELLS_MAX = 60;
/** Number of lines of header, footer, and the three lines of figures with an empty one below. */
const FIXED_LINES = 6;
/** Number of lines of a pane's title and the blank line above it. */
const PANE_LINES = 2;

/** Render the load of an installation on one screen. */
export function Top({ snapshot, isColoured, hasKeys, onLeave }: TopProps): ReactElement {
  const { columns, rows } = useWindowSize();
  useKeyPresses((key) => {
    if (key === 'ctrl-c') onLeave('interrupt');
    if (key === 'q') onLeave('quit');
  }, hasKeys);
  const { server, trouble } = snapshot;
  // Keep the terminal's last line free, so that nothing scrolls.
  const room = rows - 1 - FIXED_LINES;
  const title = [
    { text: 'service top', cells: 12, style: { bold: true } },
    { text: server.url ?? 'no server' },
    { text: formatClock(snapshot.at), cells: 8 },
  ];
  const foot = trouble === null ? (hasKeys ? 'q quit' : 'Ctrl-C quits') : `${trouble}; trying again`;
  return createElement(
    Coloured.Provider,
    { value: isColoured },
    linesOf(
      'top',
      [
        line('title', title),
        ...figureLines(snapshot, columns),
        textLine('gap', ''),
        columns >= WIDE_COLUMNS ? sideBySide(snapshot, columns, room) : stacked(snapshot, columns, room),
        textLine('foot', foot, trouble === null ? { dimColor: true } : { color: 'red' }),
      ],
      Math.max(1, rows - 1),
    ),
  );
}

/** Render throughput, requests and cache: figures, and their history over the last minute. */
function figureLines({ throughput, server }: TopSnapshot, columns: number): ReactElement[] {
  const cells = Math.max(0, Math.min(SPARK_CELLS_MAX, columns - LABEL_CELLS - FIGURES_CELLS - 2));
  const figure = (label: string, text: string, spark: string) => {
    const name = { text: label, cells: LABEL_CELLS, style: { bold: true } };
    if (spark === '') return line(label, [name, { text }]);
    // Keep the figures and their history together on a wider terminal.
    return line(label, [name, { text, cells: FIGURES_CELLS }, { text: spark, style: { color: 'cyan' } }]);
  };
  const failed = throughput.failed_per_second > 0 ? `, failed ${formatPerSecond(throughput.failed_per_second)}` : '';
  const jobs = `finished ${formatPerSecond(throughput.finished_per_second)}${failed}`;
  const first = figure('JOBS', jobs, renderSparkline(throughput.history, cells));
  if (server.trouble !== null) {
    return [first, ...['REQUESTS', 'CACHE'].map((label) => figure(label, server.trouble ?? '', ''))];
  }
  const { requests, cache } = server;
  return [
    first,
    figure('REQUESTS', describeRequests(server), renderSparkline(requests.history, cells)),
    figure('CACHE', describeCache(server), renderSparkline(cache.history, cells, 1)),
  ];
}

export function describeRequests({ requests }: ServerLoad): string {
  const { per_second, fault_rate, p50_ms, p95_ms } = requests;
  const latency = p50_ms === null ? '' : `  p50 ${formatLatency(p50_ms)} p95 ${formatLatency(p95_ms)}`;
  return `${formatPerSecond(per_second)}  faults ${formatShare(fault_rate)}${latency}`;
}

export function describeCache({ cache, texts_per_second }: ServerLoad): string {
  return `hits ${formatShare(cache.hit_rate)} of ${formatPerSecond(cache.texts_per_second)}  embedded ${formatPerSecond(texts_per_second)}`;
}

/** Function that renders a pane within a number of columns and lines. */
type DrawPane = (columns: number, room: number) => ReactElement;

/** Render panes one below the other, each with the number of lines that `allotLines` gives it. */
function stack(
  name: string,
  panes: readonly (readonly [wanted: number, draw: DrawPane])[],
  columns: number,
  room: number,
) {
  const wanted = panes.map(([lines]) => lines);
  const given = allotLines(wanted, room - panes.length * PANE_LINES + 1);
  const drawn = panes.flatMap(([, draw], index) => [
    ...(index === 0 ? [] : [textLine(`gap ${index}`, '')]),
    draw(columns, given[index] ?? 1),
  ]);
  return linesOf(name, drawn);
}

/** Return the pane of calibrations if there are any. */
function calibrationPanes({ calibrations }: TopSnapshot): (readonly [wanted: number, draw: DrawPane])[] {
  if (calibrations.length === 0) return [];
  return [[calibrations.length, (columns, room) => calibrationPane(calibrations, columns, room)]];
}

/** Return the panes of a server: its upstreams, and its channels if there are any. */
function serverPanes(server: ServerLoad): (readonly [wanted: number, draw: DrawPane])[] {
  const isServed = server.trouble === null;
  const upstreams = [
    isServed ? server.upstreams.length : 1,
    (columns: number, room: number) => upstreamPane(server, columns, room),
  ] as const;
  if (!isServed || server.channels.length === 0) return [upstreams];
  return [upstreams, [server.channels.length, (columns, room) => channelPane(server, columns, room)]];
}

/** Render all panes in one column. */
function stacked(snapshot: TopSnapshot, columns: number, room: number): ReactElement {
  const { queues, workers, server } = snapshot;
  const panes = [
    [queues.length, (columns: number, room: number) => queuePane(snapshot, columns, room)] as const,
    [workers.length, (columns: number, room: number) => workerPane(snapshot, columns, room)] as const,
    ...serverPanes(server),
    ...calibrationPanes(snapshot),
  ];
  return stack('panes', panes, columns, room);
}

/** Render queues, upstreams and channels on the left, workers on the right. */
function sideBySide(snapshot: TopSnapshot, columns: number, room: number): ReactElement {
  const { queues, server } = snapshot;
  const left = Math.floor((columns - GAP_COLUMNS) / 2);
  const right = columns - GAP_COLUMNS - left;
  const panes = [
    [queues.length, (columns: number, room: number) => queuePane(snapshot, columns, room)] as const,
    ...serverPanes(server),
    ...calibrationPanes(snapshot),
  ];
  const side = (key: string, width: number, pane: ReactElement) =>
    createElement(Box, { key, width, flexShrink: 0 }, pane);
  return createElement(
    Box,
    { key: 'panes', gap: GAP_COLUMNS },
    side('left', left, stack('left', panes, left, room)),
    side('right', right, workerPane(snapshot, right, Math.max(1, room - 1))),
  );
}
