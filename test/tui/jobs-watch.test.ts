import { createElement } from 'react';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import type { JobsSelection, JobsSnapshot, WatchedJob } from '../../src/jobs/watch.ts';
import { JobsWatch } from '../../src/tui/jobs-watch.ts';
import type { JobActions } from '../../src/tui/jobs-watch-state.ts';
import { until } from '../support/until.ts';
import { KEYS, showView } from './terminal.ts';

const AT = '2026-03-01T12:00:00.000Z';

function job(part: Partial<WatchedJob> = {}): WatchedJob {
  return {
    ...{ id: 'job_1', kind: 'ingest', org_id: 'org_a', bucket_id: 'bkt_x', collection_id: null, document_id: 'doc_1' },
    ...{
      workflow_id: null,
      source_entry_id: null,
      priority: 2,
      status: 'queued',
      s3_key: 'k',
      file_name: 'manual.pdf',
    },
    ...{ file_size: 12_000, file_type: null, processing_type: null, estimated_cost: 0, actual_cost: null },
    ...{ chunks_count: null, failed_phase: null, error_category: null, error_message: null, retryable: null },
    ...{ retry_count: 0, reprocess_of_job_id: null, worker_id: null, scheduled_at: null, started_at: null },
    ...{ completed_at: null, created_at: '2026-03-01T11:59:30.000Z', updated_at: AT, metadata_snapshot: null },
    ...{ lease_expires_at: null, progress: null, items_per_second: null, eta_seconds: null },
    ...part,
  } as WatchedJob;
}

const bulk = job({
  ...{
    id: 'job_bulk',
    kind: 'bulk',
    status: 'embedding',
    file_name: '십만 건의 글을 한꺼번에 임베딩하는 아주 긴 이름의 작업',
  },
  ...{ progress: { done: 2_500, total: 10_000, unit: 'texts' }, items_per_second: 1_250, eta_seconds: 95 },
  ...{ started_at: '2026-03-01T11:58:00.000Z', worker_id: 'wrk_1' },
});

function snapshotOf(jobs: readonly WatchedJob[], part: Partial<JobsSnapshot> = {}): JobsSnapshot {
  const counts = {
    queued: 0,
    extracting: 0,
    chunking: 0,
    embedding: 0,
    indexing: 0,
    ready: 312,
    failed: 4,
    cancelled: 0,
  };
  for (const { status } of jobs) counts[status]++;
  return {
    ...{ object: 'jobs_snapshot', sequence: 1, at: AT, since: '2026-03-01T11:00:00.000Z', trouble: null, counts, jobs },
    ...{ live: jobs.length, open: null, finished: [], finished_more: 0, finished_per_second: 0, eta_seconds: null },
    ...part,
  };
}

/** Open the view, and record every request that it makes. */
function open(first: JobsSnapshot, options: { columns?: number; rows?: number; actions?: Partial<JobActions> } = {}) {
  const requests: unknown[] = [];
  let selection: JobsSelection = { status: null, openId: null };
  let snapshot = first;
  const element = () =>
    createElement(JobsWatch, {
      ...{ snapshot, selection, title: 'jobs of acme', isColoured: false, hasKeys: true },
      actions: {
        async cancel({ id }, { force }) {
          requests.push(['cancel', id, force]);
          return 'it is cancelled';
        },
        async reprocess({ id }) {
          requests.push(['reprocess', id]);
          return 'it is queued again';
        },
        ...options.actions,
      },
      onSelect(change) {
        selection = { ...selection, ...change };
        requests.push(['select', change]);
        view.rerender(element());
      },
      onRefresh: () => requests.push('refresh'),
      onLeave: (how) => requests.push(how),
    });
  const view = showView(element(), { columns: options.columns ?? 80, rows: options.rows ?? 24 });
  return {
    ...view,
    requests,
    pressKeys(...keys: string[]) {
      view.pressKeys(...keys);
      // React draws changes by keys later; this draws them now.
      view.rerender(element());
    },
    show(next: JobsSnapshot) {
      snapshot = next;
      view.rerender(element());
    },
    shows: (text: string) => until(async () => view.frame().includes(text), { what: `"${text}" on the screen` }),
  };
}

describe('the table', () => {
  it('the table fits 80 columns by cutting names only', () => {
    const view = open(snapshotOf([bulk, job()], { finished_per_second: 2.5, eta_seconds: 130 }));
    const [live, done, header, first, second, message, keys] = view.lines();
    expect(live).toMatch(/^jobs of acme {2}queued 1 {2}embedding 1 +\d\d:00:00$/);
    expect(done).toMatch(
      /^ready 312 {2}failed 4 {2}cancelled 0 {2}since \d\d:00:00 +2\.5 jobs\/s {2}about 2m10s to go$/,
    );
    expect(header).toMatch(/^ {2}FILE +STATE +PROGRESS +DONE +RATE +ETA +AGE$/);
    expect(first).toMatch(/^> 십만 건의 글을 .*… +embedding +██░{8} +2500\/10k 1,250\/s {2}1m35s {2}2m00s$/);
    expect(second).toMatch(/^ {2}manual\.pdf +queued +- +- +- +30s$/);
    expect([message, keys]).toEqual(['', expect.stringMatching(/^q quit {2}up\/down select .* \? help$/)]);
    expect(view.width()).toBeLessThanOrEqual(80);
    expect(stringWidth(first ?? '')).toBe(80);
    view.unmount();
  });

  it('the table shows more at 200 columns, and follows the size of the terminal', () => {
    const view = open(snapshotOf([bulk, job()]), { columns: 200, rows: 50 });
    expect(view.frame()).toMatch(/ ID +FILE +KIND +P +STATE +PROGRESS +DONE +RATE +ETA +AGE +RETRY +WORKER/);
    expect(view.frame()).toContain('십만 건의 글을 한꺼번에 임베딩하는');
    expect(view.frame()).toContain('2,500/10,000');
    expect(view.frame()).toContain('wrk_1');
    view.resize(60, 15);
    view.show(snapshotOf([bulk, job()], { sequence: 2 }));
    expect(view.width()).toBeLessThanOrEqual(60);
    expect(view.frame()).not.toContain('WORKER');
    view.unmount();
  });

  it('the table never grows beyond the terminal, and keeps the selected job visible', () => {
    const jobs = Array.from({ length: 200 }, (_, n) => job({ id: `job_${n}`, file_name: `file-${n}.md` }));
    const view = open(snapshotOf(jobs, { live: 5_000 }), { rows: 24 });
    expect(view.lines().length).toBeLessThan(24);
    expect(view.frame()).toContain('the first 200 of 5,000');
    view.pressKeys(...Array.from({ length: 60 }, () => 'j'));
    expect(view.frame()).toMatch(/^> file-60\.md/m);
    view.pressKeys('G');
    expect(view.frame()).toMatch(/^> file-199\.md/m);
    view.pressKeys(KEYS.up, 'k', 'g');
    expect(view.frame()).toMatch(/^> file-0\.md/m);
    view.resize(80, 6);
    view.show(snapshotOf(jobs, { sequence: 2 }));
    expect(view.lines().length).toBeLessThanOrEqual(6);
    view.unmount();
  });

  it('the table shows that it is empty, the time of a retry, and a database that does not answer', () => {
    const view = open(snapshotOf([]));
    expect(view.frame()).toContain('no jobs are queued or in progress');
    view.show(snapshotOf([job({ scheduled_at: '2026-03-01T12:00:45.000Z', retry_count: 1 })], { sequence: 2 }));
    expect(view.frame()).toContain('in 45s');
    view.show(snapshotOf([], { sequence: 3, trouble: 'the database is away' }));
    expect(view.frame()).toContain('the database is away; trying again');
    view.unmount();
  });

  it('control characters in a name do not reach the terminal', () => {
    const view = open(snapshotOf([job({ file_name: 'a\u001b[2Jb\nc\u202edf' })]));
    expect(view.frame()).toContain('> a [2Jb c df');
    for (const sign of ['\u001b', '\u202e']) expect(view.frame()).not.toContain(sign);
    view.unmount();
  });
});

describe('finished jobs', () => {
  it('finished jobs are printed once as permanent lines', () => {
    const ready = job({
      ...{
        id: 'job_r',
        status: 'ready',
        chunks_count: 1_240,
        started_at: AT,
        completed_at: '2026-03-01T12:00:03.000Z',
      },
    });
    const failed = job({
      ...{ id: 'job_f', status: 'failed', failed_phase: 'extracting', completed_at: AT, file_name: '규정.pdf' },
      error_message: 'the file is encrypted',
    });
    const view = open(snapshotOf([bulk]));
    view.show(snapshotOf([bulk], { sequence: 2, finished: [ready, failed], finished_more: 7 }));
    const lines = view.lines();
    expect(lines[0]).toMatch(/^\d\d:00:03 ready {5}manual\.pdf +1,240 chunks in 3s$/);
    expect(lines[1]).toMatch(/^\d\d:00:00 failed {4}규정\.pdf +in extracting: the file is encrypted$/);
    expect(lines[2]).toBe('… and 7 more');
    const written = view.frames.length;
    view.show(snapshotOf([bulk], { sequence: 3 }));
    view.pressKeys('j', '?');
    expect(view.frames.slice(written).join('\n')).not.toContain('encrypted');
    view.unmount();
  });
});

describe('keys', () => {
  const jobs = [bulk, job({ id: 'job_2', file_name: 'two.md' }), job({ id: 'job_3', file_name: 'three.md' })];

  it('the selection stays on a job when the list changes, and moves to its neighbour when it is gone', () => {
    const view = open(snapshotOf(jobs));
    view.pressKeys(KEYS.down);
    view.show(snapshotOf([job({ id: 'job_4', file_name: 'new.md' }), ...jobs], { sequence: 2 }));
    expect(view.frame()).toMatch(/^> two\.md/m);
    view.show(snapshotOf(jobs.slice(0, 1).concat(jobs.slice(2)), { sequence: 3 }));
    expect(view.frame()).toMatch(/^> three\.md/m);
    view.unmount();
  });

  it('the key c cancels after a question, and with force only for F', async () => {
    const view = open(snapshotOf(jobs));
    view.pressKeys('c');
    expect(view.frame()).toContain('It is embedding: only F cancels it.');
    view.pressKeys('n');
    expect(view.frame()).toContain('not cancelled');
    expect(view.requests).toEqual([]);
    view.pressKeys('c', 'F');
    await view.shows('it is cancelled');
    view.pressKeys('j', 'c');
    expect(view.frame()).toContain('cancel this job?  two.md');
    view.pressKeys('y');
    await view.shows('it is cancelled');
    expect(view.requests).toEqual([['cancel', 'job_bulk', true], 'refresh', ['cancel', 'job_2', false], 'refresh']);
    view.unmount();
  });

  it('the question before a cancellation follows the job, and is void once the job has ended', () => {
    const view = open(snapshotOf(jobs));
    view.pressKeys('j', 'c');
    expect(view.frame()).toContain('y cancel');
    const started = job({ id: 'job_2', file_name: 'two.md', status: 'embedding' });
    view.show(snapshotOf([started], { sequence: 2 }));
    expect(view.frame()).toContain('It is embedding: only F cancels it.');
    expect(view.frame()).toContain('F cancel in progress');
    view.show(snapshotOf([], { sequence: 3, finished: [{ ...started, status: 'ready' }] }));
    expect(view.frame()).toContain('the job is ready already  two.md');
    view.pressKeys('F');
    expect(view.requests).toEqual([]);
    view.unmount();
  });

  it('the key to leave stays in the footer of a narrow terminal', () => {
    const view = open(snapshotOf(jobs), { columns: 40 });
    expect(view.frame()).toMatch(/^q quit/m);
    view.unmount();
  });

  it('keys that arrive together are handled one after the other', async () => {
    const view = open(snapshotOf(jobs));
    view.pressKeys('jjcy');
    await view.shows('it is cancelled');
    expect(view.requests[0]).toEqual(['cancel', 'job_3', false]);
    view.pressKeys('ff\r');
    expect(view.requests.at(-1)).toEqual(['select', { status: 'failed' }]);
    view.pressKeys('gq\u0003');
    expect(view.requests.slice(-2)).toEqual(['quit', 'interrupt']);
    view.unmount();
  });

  it('only keys that can act on the selected job are offered, and others say what is possible', () => {
    const failed = job({ id: 'job_9', status: 'failed', file_name: 'broken.pdf' });
    const view = open(snapshotOf([job(), failed]));
    expect(view.frame()).toMatch(/f filter {2}c cancel {2}\? help/);
    view.pressKeys('r');
    expect(view.frame()).toContain('it can be reprocessed when it has ended');
    view.pressKeys('j');
    expect(view.frame()).toMatch(/f filter {2}r reprocess {2}\? help/);
    view.pressKeys('c');
    expect(view.frame()).toContain('the job is failed already; the key r reprocesses it');
    expect(view.requests).toEqual([]);
    view.show(snapshotOf([], { sequence: 2 }));
    expect(view.frame()).toMatch(/^q quit {2}f filter {2}\? help/m);
    view.unmount();
  });

  it('the key r shows why reprocessing is refused', async () => {
    const view = open(snapshotOf([job({ status: 'failed' })]), {
      actions: {
        async reprocess() {
          throw new Error('the job is embedding; only a finished job can be processed again');
        },
      },
    });
    view.pressKeys('r');
    await view.shows('only a finished job can be processed again');
    view.unmount();
  });

  it('the filter is chosen with arrows or a first letter, and escape keeps it', () => {
    const view = open(snapshotOf(jobs));
    view.pressKeys('/');
    expect(view.frame()).toContain('show: [all] queued extracting');
    view.pressKeys(KEYS.right, 'f');
    expect(view.frame()).toContain('[failed]');
    view.pressKeys(KEYS.enter);
    expect(view.requests).toEqual([['select', { status: 'failed' }]]);
    view.show(snapshotOf([], { sequence: 2 }));
    expect(view.frame()).toContain('only failed');
    expect(view.frame()).toContain('no jobs in the state failed in the last day');
    view.pressKeys('f', 'e', 'e', 'x', KEYS.left);
    expect(view.frame()).toContain('[chunking]');
    view.unmount();
  });

  it('the key enter opens the details of a job with its whole error, also after the job has left the list', async () => {
    const message = `the provider is unavailable: ${'it answered 503, '.repeat(12)}the end`;
    const failed = job({
      ...{ id: 'job_2', status: 'failed', error_message: message, error_category: 'upstream_unavailable' },
      ...{ failed_phase: 'embedding', retryable: true, completed_at: AT },
    });
    const view = open(snapshotOf([failed]));
    view.pressKeys(KEYS.enter);
    expect(view.requests).toEqual([['select', { openId: 'job_2' }]]);
    view.show(snapshotOf([], { sequence: 2, open: failed }));
    const text = view.frame().replace(/\s+/g, ' ');
    expect(text).toContain('the end (upstream_unavailable in embedding; it may be tried again)');
    expect(text).toContain('document doc_1');
    expect(view.width()).toBeLessThanOrEqual(80);
    view.pressKeys('r');
    await view.shows('it is queued again');
    expect(view.requests).toContainEqual(['reprocess', 'job_2']);
    view.show(snapshotOf([], { sequence: 3 }));
    expect(view.frame()).toContain('this job does not exist any more');
    view.pressKeys('q');
    expect(view.requests.at(-1)).toEqual(['select', { openId: null }]);
    expect(view.frame()).toContain('no jobs are queued');
    view.unmount();
  });

  it('the key ? shows help, and q and Ctrl-C leave', () => {
    const view = open(snapshotOf(jobs));
    view.pressKeys('?');
    expect(view.frame()).toContain('any key goes back');
    expect(view.width()).toBeLessThanOrEqual(80);
    expect(view.frame()).not.toContain('…');
    view.pressKeys('q');
    expect(view.requests).toEqual([]);
    view.pressKeys('q', '\u0003');
    expect(view.requests).toEqual(['quit', 'interrupt']);
    view.unmount();
  });
});
