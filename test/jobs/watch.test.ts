import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobKind } from '../../src/jobs/schema.ts';
import { enqueueJob } from '../../src/jobs/store.ts';
import { JobsSelector, type JobsSnapshot, type WatchOptions, watchJobs } from '../../src/jobs/watch.ts';
import { newId } from '../../src/platform/ids.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { openPostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';

let db: TestDatabase;
let stop: AbortController;

beforeAll(async () => {
  db = await createTestDatabase();
  for (const id of ['org_a', 'org_b'])
    await db.sql`INSERT INTO organizations (id, name, plan) VALUES (${id}, ${id}, 'free')`;
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.sql`DELETE FROM jobs`;
  stop = new AbortController();
});
afterEach(() => stop.abort());

interface Put {
  readonly org?: string;
  readonly kind?: JobKind;
  readonly bucket?: string;
  readonly status?: string;
  /** Seconds since it finished. */
  readonly finishedSeconds?: number;
}

/** Insert a job in a state, without the steps that lead there. */
async function put({ org = 'org_a', kind = 'ingest', bucket = 'bkt_x', status, finishedSeconds }: Put = {}) {
  const { id } = await enqueueJob(db.sql, {
    ...{ id: newId('job'), kind, orgId: org, bucketId: bucket, priority: 2, s3Key: 'k', fileName: 'f' },
    ...{ fileSizeBytes: 1, processingType: 'test' },
  });
  if (status !== undefined) await db.sql`UPDATE jobs SET status = ${status} WHERE id = ${id}`;
  if (finishedSeconds !== undefined) await finish(id, status, finishedSeconds);
  return id;
}

async function finish(id: string, status = 'ready', secondsAgo = 0) {
  await db.sql`
    UPDATE jobs SET status = ${status}, completed_at = now() - ${secondsAgo} * interval '1 second' WHERE id = ${id}`;
}

/** Open a watch that reads the database whenever the next snapshot is requested. */
function watch(options: Partial<WatchOptions> = {}, sql = db.sql) {
  const snapshots = watchJobs(sql, 'org_a', {
    intervalMs: 1,
    signal: stop.signal,
    visible: (sql) => sql`true`,
    ...options,
  });
  return {
    snapshots,
    async next(): Promise<JobsSnapshot> {
      const { value } = await snapshots.next();
      if (!value) throw new Error('the watch has ended');
      return value;
    },
  };
}

const idsOf = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => id);

describe('a snapshot', () => {
  it('a snapshot has the jobs in progress, then queued ones, each newest first, and counts by state', async () => {
    const waiting = [await put(), await put()];
    const running = [await put({ status: 'embedding' }), await put({ status: 'extracting' })];
    await put({ status: 'ready', finishedSeconds: 60 });
    await put({ org: 'org_b' });
    const snapshot = await watch().next();
    expect(idsOf(snapshot.jobs)).toEqual([...running.toReversed(), ...waiting.toReversed()]);
    expect(snapshot).toMatchObject({ sequence: 1, live: 4, trouble: null, open: null, finished: [], finished_more: 0 });
    expect(snapshot.counts).toEqual({
      ...{ queued: 2, extracting: 1, chunking: 0, embedding: 1, indexing: 0, ready: 1, failed: 0, cancelled: 0 },
    });
  });

  it('a snapshot counts finished jobs of the hour before it, and none older', async () => {
    await put({ status: 'failed', finishedSeconds: 3_000 });
    await put({ status: 'failed', finishedSeconds: 4_000 });
    const snapshot = await watch().next();
    expect(snapshot.counts.failed).toBe(1);
    expect(Date.parse(snapshot.at) - Date.parse(snapshot.since)).toBe(3_600_000);
  });

  it('a snapshot can be limited to one kind and one bucket', async () => {
    const bulk = await put({ kind: 'bulk', bucket: 'none' });
    const manual = await put({ bucket: 'bkt_manuals' });
    await put({ bucket: 'bkt_manuals', status: 'ready', finishedSeconds: 5 });
    await put();
    const ofBulk = await watch({ kind: 'bulk' }).next();
    expect([idsOf(ofBulk.jobs), ofBulk.live]).toEqual([[bulk], 1]);
    const ofBucket = await watch({ bucketId: 'bkt_manuals' }).next();
    expect([idsOf(ofBucket.jobs), ofBucket.live, ofBucket.counts.ready]).toEqual([[manual], 1, 1]);
  });

  it('a snapshot holds 200 jobs at most and counts all of them', async () => {
    await db.sql`
      INSERT INTO jobs (id, kind, org_id, bucket_id, fair_rank, status, s3_key, file_name, file_size)
      SELECT 'job_' || n, 'ingest', 'org_a', 'bkt_x', n, 'queued', 'k', 'f', 1 FROM generate_series(1, 250) AS n`;
    const running = await put({ status: 'chunking' });
    const snapshot = await watch().next();
    expect([snapshot.jobs.length, snapshot.live, snapshot.jobs[0]?.id]).toEqual([200, 251, running]);
  });

  it('a snapshot shows how many phases an ingest job has completed', async () => {
    const progressOf = async (status?: string) => {
      await db.sql`DELETE FROM jobs`;
      await put(status === undefined ? {} : { status });
      const { jobs } = await watch().next();
      return jobs[0]?.progress;
    };
    expect(await progressOf()).toBeNull();
    expect(await progressOf('extracting')).toEqual({ done: 0, total: 4, unit: 'phases' });
    expect(await progressOf('indexing')).toEqual({ done: 3, total: 4, unit: 'phases' });
  });
});

describe('from snapshot to snapshot', () => {
  it('a watch reports each finished job once, oldest first, also jobs that it never showed before', async () => {
    const old = await put({ status: 'ready', finishedSeconds: 1 });
    const [first, second] = [await put(), await put({ status: 'embedding' })];
    const { next } = watch();
    expect((await next()).finished).toEqual([]);
    await finish(second);
    await finish(first, 'failed');
    const unseen = await put();
    await finish(unseen, 'cancelled');
    const snapshot = await next();
    expect(idsOf(snapshot.finished)).toEqual([second, first, unseen]);
    expect(snapshot.counts).toMatchObject({ ready: 2, failed: 1, cancelled: 1, queued: 0 });
    const later = await next();
    expect([idsOf(later.finished), later.counts.ready, later.live]).toEqual([[], 2, 0]);
    expect(idsOf(snapshot.finished)).not.toContain(old);
  });

  it('a watch reports a job whose transaction ends after its completion time', async () => {
    const late = await put({ status: 'indexing' });
    const { next } = watch();
    await next();
    await db.sql.begin(async (tx) => {
      await tx`UPDATE jobs SET status = 'ready', completed_at = now() WHERE id = ${late}`;
      expect((await next()).finished).toEqual([]);
      expect((await next()).finished).toEqual([]);
    });
    expect(idsOf((await next()).finished)).toEqual([late]);
    expect((await next()).finished).toEqual([]);
  });

  it('a watch lists 50 finished jobs and counts the others', async () => {
    const { next } = watch();
    await next();
    await db.sql`
      INSERT INTO jobs (id, kind, org_id, bucket_id, fair_rank, status, s3_key, file_name, file_size, completed_at)
      SELECT 'job_' || n, 'ingest', 'org_a', 'bkt_x', n, 'ready', 'k', 'f', 1, now() FROM generate_series(1, 70) AS n`;
    const snapshot = await next();
    expect([snapshot.finished.length, snapshot.finished_more, snapshot.counts.ready]).toEqual([50, 20, 70]);
    const later = await next();
    expect([later.finished.length, later.finished_more, later.counts.ready]).toEqual([0, 0, 70]);
  });

  it('a watch estimates the rate of the whole queue and the time left', async () => {
    for (let i = 0; i < 30; i++) await put({ status: 'ready', finishedSeconds: 30 });
    for (let i = 0; i < 4; i++) await put();
    const { finished_per_second, eta_seconds } = await watch().next();
    expect(finished_per_second).toBeCloseTo(1, 0);
    expect(eta_seconds).toBeCloseTo(4 / finished_per_second, 6);
    await db.sql`DELETE FROM jobs WHERE status = 'ready'`;
    expect(await watch().next()).toMatchObject({ finished_per_second: 0, eta_seconds: null });
  });

  it('a watch estimates the rate of each bulk job by its texts', async () => {
    const id = await put({ kind: 'bulk', status: 'embedding' });
    await put();
    const queued = await put({ kind: 'bulk' });
    const counted: string[][] = [];
    let done = 100;
    const countTexts: WatchOptions['countTexts'] = async (_, ids) => {
      counted.push([...ids]);
      return new Map(ids.map((job) => [job, { done: job === id ? done : 0, total: 1_000 }]));
    };
    const { next } = watch({ countTexts });
    const first = await next();
    expect(counted).toEqual([[id, queued]]);
    expect(first.jobs.map((job) => job.progress)).toEqual([
      { done: 100, total: 1_000, unit: 'texts' },
      { done: 0, total: 1_000, unit: 'texts' },
      null,
    ]);
    expect(first.jobs[0]).toMatchObject({ items_per_second: null, eta_seconds: null });
    done = 400;
    const second = await next();
    const seconds = (Date.parse(second.at) - Date.parse(first.at)) / 1000;
    expect(second.jobs[0]?.items_per_second).toBeCloseTo(300 / seconds, 6);
    expect(second.jobs[0]?.eta_seconds).toBeCloseTo(600 / (300 / seconds), 6);
    expect(second.jobs[1]).toMatchObject({ items_per_second: null });
  });
});

describe('a selection', () => {
  it('a selection shows jobs of one state, and finished ones of the last day only', async () => {
    const failed = [
      await put({ status: 'failed', finishedSeconds: 7_200 }),
      await put({ status: 'failed', finishedSeconds: 10 }),
    ];
    await put({ status: 'failed', finishedSeconds: 100_000 });
    await put({ status: 'ready', finishedSeconds: 10 });
    const [queued, embedding] = [await put(), await put({ status: 'embedding' })];
    const seen = async (status: 'failed' | 'queued' | 'embedding' | 'indexing') => {
      const snapshot = await watch({ selector: new JobsSelector({ status, openId: null }) }).next();
      return [idsOf(snapshot.jobs), snapshot.live];
    };
    expect(await seen('failed')).toEqual([failed.toReversed(), 2]);
    expect(await seen('queued')).toEqual([[queued], 2]);
    expect(await seen('embedding')).toEqual([[embedding], 2]);
    expect(await seen('indexing')).toEqual([[], 2]);
  });

  it('a selection shows one job in any state, unless it belongs to another organization', async () => {
    const id = await put({ status: 'cancelled', finishedSeconds: 200_000 });
    const foreign = await put({ org: 'org_b' });
    const selector = new JobsSelector({ status: null, openId: id });
    const { next } = watch({ selector });
    expect(await next()).toMatchObject({ open: { id, status: 'cancelled' }, jobs: [] });
    selector.selection = { status: null, openId: foreign };
    expect((await next()).open).toBeNull();
  });

  it('a change of the selection triggers the next snapshot at once', async () => {
    const id = await put({ status: 'failed', finishedSeconds: 10 });
    const selector = new JobsSelector();
    const { next } = watch({ selector, intervalMs: 3_600_000 });
    expect((await next()).jobs).toEqual([]);
    const pending = next();
    selector.selection = { status: 'failed', openId: null };
    expect(idsOf((await pending).jobs)).toEqual([id]);
    selector.refresh();
    expect((await next()).sequence).toBe(3);
  });
});

it('a watch ends with the reason of its signal, also while it waits', async () => {
  const { next } = watch({ intervalMs: 3_600_000 });
  await next();
  const pending = next();
  stop.abort(new Error('enough'));
  await expect(pending).rejects.toThrow('enough');
});

it('a watch repeats its last snapshot while the database is unavailable, and then goes on', async () => {
  const proxy = await openPostgresProxy(db.connection);
  const sql = openPostgres(proxy.connection, { poolMax: 1, applicationName: 'test' });
  try {
    const id = await put();
    const { next } = watch({}, sql);
    expect((await next()).trouble).toBeNull();
    await proxy.cut();
    const away = await next();
    expect(away).toMatchObject({ trouble: expect.stringMatching(/\S/), live: 1, sequence: 2 });
    expect(idsOf(away.jobs)).toEqual([id]);
    await finish(id);
    await proxy.open();
    const finished: string[] = [];
    const back = await until(async () => {
      const snapshot = await next();
      finished.push(...idsOf(snapshot.finished));
      return snapshot.trouble === null && snapshot;
    });
    expect(back.live).toBe(0);
    expect(finished).toEqual([id]);
    await proxy.cut();
    await expect(watch({}, sql).next()).rejects.toMatchObject({ code: 'postgres_unavailable' });
  } finally {
    await proxy.close();
    await sql.end({ timeout: 1 });
  }
});
