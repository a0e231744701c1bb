import { createElement } from 'react';
import { describe, expect, it } from 'vitest';
import type { WorkerLoad } from '../../src/jobs/queue-store.ts';
import type { ChannelLoad, ServerLoad, UpstreamLoad } from '../../src/tui/server-load.ts';
import { Top, type TopSnapshot } from '../../src/tui/top.ts';
import { allotLines } from '../../src/tui/top-panes.ts';
import { showView } from './terminal.ts';

const upstream = (provider: string, part: Partial<UpstreamLoad> = {}): UpstreamLoad => ({
  ...{ provider, calls_per_second: 5.4, error_rate: 0.14, p50_ms: 120, p95_ms: 1_250, in_flight: 3, queued_texts: 40 },
  ...{ breaker: 'open', history_p95_ms: [null, 100, 400] },
  ...part,
});

const worker = (id: string, part: Partial<WorkerLoad> = {}): WorkerLoad => ({
  ...{ id, kind: 'bulk', host: 'box/0123', pid: 77, started_at: null, silent_seconds: 2, jobs: 4, lease_seconds: 28 },
  ...part,
});

const channel = (bot: string): ChannelLoad => ({
  ...{ channel: `chn_${bot}`, bot, deliveries_per_second: 2.5, limited_rate: 0.2, refusals_per_second: 0.5 },
  ...{ faults_per_second: 0.1, p50_ms: 12, p95_ms: 40 },
});

function snapshotOf(part: Partial<TopSnapshot> = {}, server: Partial<ServerLoad> = {}): TopSnapshot {
  return {
    ...{ object: 'top_snapshot', at: '2026-03-01T12:00:00.000Z', trouble: null },
    queues: [
      { kind: 'bulk', priority: 0, queued: 3, delayed: 0, in_progress: 4, oldest_seconds: 2 },
      { kind: 'ingest', priority: 4, queued: 12_400, delayed: 7, in_progress: 12, oldest_seconds: 7_500 },
    ],
    workers: [worker('wrk_1'), worker('wrk_2', { kind: null, host: null, pid: null, silent_seconds: null })],
    throughput: { finished_per_second: 12.5, failed_per_second: 0.3, history: [0, 4, 8] },
    calibrations: [],
    server: {
      ...{ url: 'http://127.0.0.1:8080', trouble: null, texts_per_second: 640 },
      requests: { per_second: 41.7, fault_rate: 0.012, p50_ms: 7.7, p95_ms: 99, history: [1, 2] },
      cache: { hit_rate: 0.705, texts_per_second: 57.7, bytes: 4_096, history: [0.5, 1] },
      upstreams: [upstream('vendor-a'), upstream('vendor-b', { breaker: 'closed', error_rate: 0 })],
      channels: [],
      ...server,
    },
    ...part,
  };
}

function open(snapshot: TopSnapshot, columns: number, rows: number) {
  const left: string[] = [];
  const element = createElement(Top, { snapshot, isColoured: false, hasKeys: true, onLeave: (how) => left.push(how) });
  return { ...showView(element, { columns, rows }), left };
}

describe('the screen', () => {
  it('the screen shows everything in 80 columns and 24 rows', () => {
    const view = open(snapshotOf(), 80, 24);
    expect(view.lines().map((line) => line.trimEnd())).toEqual([
      expect.stringMatching(/^service top {2}http:\/\/127\.0\.0\.1:8080 +\d\d:00:00$/),
      expect.stringMatching(/^JOBS {7}finished 12\.5\/s, failed 0\.3\/s +▁▄█$/),
      expect.stringMatching(/^REQUESTS {3}41\.7\/s {2}faults 1\.2% {2}p50 7\.7ms p95 99ms +▄█$/),
      expect.stringMatching(/^CACHE {6}hits 70\.5% of 57\.7\/s {2}embedded 640\/s +▄█$/),
      '',
      expect.stringMatching(/^QUEUE +PRIORITY +QUEUED +DELAYED IN PROGRESS +OLDEST$/),
      expect.stringMatching(/^bulk +0 +3 +0 +4 +2s$/),
      expect.stringMatching(/^ingest +4 +12,400 +7 +12 +2h05m$/),
      '',
      expect.stringMatching(/^WORKER +KIND +JOBS +LEASE +SEEN HOST$/),
      expect.stringMatching(/^wrk_1 +bulk +4 +28s +2s box$/),
      expect.stringMatching(/^wrk_2 +gone +4 +28s +- -$/),
      '',
      expect.stringMatching(/^UPSTREAM +CALLS ERRORS +P50 +P95 +NOW +QUEUE BREAKER$/),
      expect.stringMatching(/^vendor-a +5\.4\/s +14\.0% +120ms +1\.25s +3 +40 open$/),
      expect.stringMatching(/^vendor-b +5\.4\/s +0% +120ms +1\.25s +3 +40 closed$/),
      'q quit',
    ]);
    expect(view.width()).toBeLessThanOrEqual(80);
    view.unmount();
  });

  it('the screen shows the traffic of channels if there are any', () => {
    const view = open(snapshotOf({}, { channels: [channel('shop')] }), 80, 24);
    expect(view.frame()).toMatch(/^CHANNEL +DELIVERED +LIMITED +REFUSED +FAULTS +P50 +P95$/m);
    expect(view.frame()).toMatch(/^shop +2\.5\/s +20\.0% +0\.5\/s +0\.1\/s +12ms +40ms$/m);
    view.unmount();
  });

  it('the screen shows models that are being calibrated, or that could not be', () => {
    const calibration = { model: 'vendor-a/alpha', texts_done: 0, texts_total: 0, score: null, reason: null };
    const calibrations = [
      { ...calibration, state: 'calibrating' as const, texts_done: 800, texts_total: 2_000 },
      { ...calibration, model: 'vendor-b/beta', state: 'apart' as const, score: 0.612, reason: 'too low' },
    ];
    const view = open(snapshotOf({ calibrations }), 80, 30);
    expect(view.frame()).toMatch(/^CALIBRATION +STATE +DONE/m);
    expect(view.frame()).toMatch(/^vendor-a\/alpha +calibrating +40\.0% *$/m);
    expect(view.frame()).toMatch(/^vendor-b\/beta +apart +- too low \(score 0\.612\) *$/m);
    view.unmount();
  });

  it('the screen has two columns and longer histories at 200 columns', () => {
    const view = open(snapshotOf(), 200, 50);
    expect(view.frame()).toMatch(/^QUEUE .* OLDEST +WORKER .* PID HOST/m);
    expect(view.frame()).toMatch(/^vendor-a .* open +▂█/m);
    view.unmount();
  });

  it('the kind of a worker is whole in a wide terminal', () => {
    const view = open(snapshotOf({ workers: [worker('wrk_1', { kind: 'hard_delete' })] }), 200, 50);
    expect(view.frame()).toMatch(/wrk_1 +hard_delete +4/);
    expect(view.width()).toBeLessThanOrEqual(200);
    view.unmount();
  });

  it.each([
    [80, 24],
    [200, 24],
    [80, 12],
    [40, 5],
  ])('the screen fits %i columns and %i rows, and shows how much it leaves out', (columns, rows) => {
    const many = <T>(make: (name: string) => T) => Array.from({ length: 40 }, (_, n) => make(`길고 긴 이름 ${n}`));
    const queues = snapshotOf().queues.flatMap((queue) => Array.from({ length: 20 }, () => queue));
    const snapshot = snapshotOf(
      { queues, workers: many((id) => worker(id)) },
      { upstreams: many((name) => upstream(name)), channels: many((name) => channel(name)) },
    );
    const view = open(snapshot, columns, rows);
    expect(view.lines().length).toBeLessThan(rows);
    expect(view.width()).toBeLessThanOrEqual(columns);
    if (rows === 24) expect(view.frame()).toMatch(/… and \d+ more/);
    view.unmount();
  });

  it('the screen shows why a server cannot be read in place of its figures', () => {
    const trouble = 'cannot read the metrics of http://127.0.0.1:8080';
    const view = open(snapshotOf({}, { trouble, upstreams: [] }), 80, 24);
    expect(
      view
        .lines()
        .filter((line) => line.includes(trouble))
        .map((line) => line.slice(0, 8).trim()),
    ).toEqual([...['REQUESTS', 'CACHE', 'cannot r']]);
    expect(view.frame()).toContain('12,400');
    view.unmount();
  });

  it('the screen shows that the database does not answer', () => {
    const view = open(snapshotOf({ trouble: 'PostgreSQL does not answer' }), 80, 24);
    expect(view.lines().at(-1)?.trimEnd()).toBe('PostgreSQL does not answer; trying again');
    view.unmount();
  });

  it('the keys q and Ctrl-C leave the screen', () => {
    const view = open(snapshotOf(), 80, 24);
    view.pressKeys('x', 'q', '\u0003');
    expect(view.left).toEqual(['quit', 'interrupt']);
    view.unmount();
  });
});

it('panes that need few lines get all of them, and the other panes share the rest', () => {
  expect(allotLines([2, 3, 4], 20)).toEqual([2, 3, 4]);
  expect(allotLines([1, 40, 40], 11)).toEqual([1, 5, 5]);
  expect(allotLines([9, 9], 1)).toEqual([1, 1]);
  expect(allotLines([0, 5], 4)).toEqual([1, 3]);
});
