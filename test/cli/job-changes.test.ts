import { expect, test } from 'vitest';
import { describeChanges } from '../../src/cli/job-changes.ts';
import type { JobsSnapshot, WatchedJob } from '../../src/jobs/watch.ts';

const AT = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-01T12:00:01.000Z';

function job(id: string, part: Partial<WatchedJob> = {}): WatchedJob {
  return {
    ...{ id, kind: 'ingest', status: 'queued', file_name: `${id}.md`, created_at: '2026-03-01T11:00:00.000Z' },
    ...{ retry_count: 0, completed_at: null, progress: null, chunks_count: null, error_message: null },
    ...{ failed_phase: null, started_at: AT },
    ...part,
  } as WatchedJob;
}

function snapshotOf(jobs: readonly WatchedJob[], part: Partial<JobsSnapshot> = {}): JobsSnapshot {
  const counts = {
    queued: 2,
    extracting: 0,
    chunking: 0,
    embedding: 1,
    indexing: 0,
    ready: 7,
    failed: 0,
    cancelled: 0,
  };
  return { at: AT, since: AT, counts, jobs, trouble: null, finished: [], finished_more: 0, ...part } as JobsSnapshot;
}

const texts = (done: number) => ({ done, total: 1_000, unit: 'texts' as const });

test('the first line has the counts of all states', () => {
  expect(describeChanges(null, snapshotOf([job('a')]))).toEqual([
    expect.stringMatching(/^2026-03-01T12:00:00\.000Z queued 2 {2}embedding 1 {2}ready 7 {2}failed 0 {2}cancelled 0 /),
  ]);
});

test('each job that is new, changes its state or finishes has a line, and each tenth of a bulk job', () => {
  const before = snapshotOf([
    ...[job('bulk', { status: 'embedding', progress: texts(190) }), job('slow', { progress: texts(110) })],
    ...[job('moves', { status: 'extracting' }), job('waits'), job('retried', { status: 'embedding' })],
  ]);
  const after = snapshotOf(
    [
      ...[job('bulk', { status: 'embedding', progress: texts(410) }), job('slow', { progress: texts(120) })],
      ...[job('moves', { status: 'chunking' }), job('waits')],
      job('retried', { retry_count: 1, error_message: 'the provider\nis away' }),
      ...[job('new', { created_at: LATER }), job('old but beyond the list'), job('taken', { status: 'embedding' })],
    ],
    {
      at: LATER,
      finished: [
        job('done', { status: 'ready', chunks_count: 12, completed_at: LATER }),
        job('bad', { status: 'failed', failed_phase: 'chunking', error_message: 'corrupt', completed_at: LATER }),
      ],
      finished_more: 1_200,
    },
  );
  expect(describeChanges(before, after)).toEqual(
    [
      'done  ready  done.md  12 chunks in 1s',
      'bad  failed  bad.md  in chunking: corrupt',
      '1,200 more finished',
      'taken  embedding  taken.md',
      'new  queued  new.md',
      'retried  queued  retried.md  attempt 1 failed: the provider is away',
      'moves  chunking  moves.md',
      'bulk  embedding  bulk.md  410 of 1000 texts',
    ].map((line) => `${LATER} ${line}`),
  );
  expect(describeChanges(after, { ...after, finished: [], finished_more: 0 })).toEqual([]);
});

test('finished jobs that are listed because their state is selected are no changes', () => {
  const ready = job('x', { status: 'ready', completed_at: AT });
  expect(describeChanges(snapshotOf([]), snapshotOf([ready]))).toEqual([]);
});

test('a database that stops and answers again has one line for each', () => {
  const well = snapshotOf([]);
  const away = snapshotOf([], { trouble: 'PostgreSQL is away' });
  expect(describeChanges(well, away)).toEqual([`${AT} PostgreSQL is away; trying again`]);
  expect(describeChanges(away, away)).toEqual([]);
  expect(describeChanges(away, well)).toEqual([`${AT} the database answers again`]);
});
