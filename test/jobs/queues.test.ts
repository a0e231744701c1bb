import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openQueueGauge } from '../../src/jobs/queues.ts';
import { touchWorker } from '../../src/jobs/worker-store.ts';
import { newId } from '../../src/platform/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_a', 'a', 'free'), ('org_b', 'b', 'free')`;
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.sql`DELETE FROM jobs`;
  await db.sql`DELETE FROM workers`;
});

async function put(row: Record<string, unknown>) {
  const job = {
    ...{ id: newId('job'), kind: 'ingest', org_id: 'org_a', bucket_id: 'b', fair_rank: 0, status: 'queued' },
    ...{ s3_key: 'k', file_name: 'f', file_size: 1, ...row },
  };
  await db.sql`INSERT INTO jobs ${db.sql(job)}`;
}

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);

test('the gauge shows queues by kind and priority, over all organizations', async () => {
  await put({ priority: 0, kind: 'bulk', org_id: 'org_b' });
  await put({ created_at: ago(100) });
  await put({ org_id: 'org_b', created_at: ago(40), scheduled_at: ago(-60) });
  await put({ status: 'embedding' });
  await put({ status: 'ready', completed_at: ago(1) });
  const { queues } = await openQueueGauge()(db.sql);
  expect(queues).toEqual([
    { kind: 'bulk', priority: 0, queued: 1, delayed: 0, in_progress: 0, oldest_seconds: expect.any(Number) },
    { kind: 'ingest', priority: 2, queued: 2, delayed: 1, in_progress: 1, oldest_seconds: expect.any(Number) },
  ]);
  expect(queues[1]?.oldest_seconds).toBeGreaterThan(90);
});

test('the gauge shows workers with their jobs, also workers that are not registered', async () => {
  await touchWorker(db.sql, { id: 'wrk_idle', kind: 'ingest', host: 'h/1', pid: 1 });
  await touchWorker(db.sql, { id: 'wrk_busy', kind: 'bulk', host: 'h/1', pid: 2 });
  await db.sql`UPDATE workers SET seen_at = now() - interval '50 seconds' WHERE id = 'wrk_idle'`;
  for (const seconds of [-20, -10]) {
    await put({ kind: 'bulk', status: 'embedding', worker_id: 'wrk_busy', lease_expires_at: ago(seconds) });
  }
  await put({ status: 'chunking', worker_id: 'wrk_gone', lease_expires_at: ago(30) });
  await put({ status: 'queued', worker_id: 'wrk_idle' });
  const { workers } = await openQueueGauge()(db.sql);
  expect(workers.map(({ id, kind, pid, jobs }) => [id, kind, pid, jobs])).toEqual([
    ['wrk_busy', 'bulk', 2, 2],
    ['wrk_gone', null, null, 1],
    ['wrk_idle', 'ingest', 1, 0],
  ]);
  const [busy, gone, idle] = workers;
  expect(busy?.lease_seconds).toBeLessThanOrEqual(10);
  expect(busy?.lease_seconds).toBeGreaterThan(0);
  expect(gone?.lease_seconds).toBeLessThan(0);
  expect(idle).toMatchObject({ lease_seconds: null, silent_seconds: expect.any(Number) });
  expect(idle?.silent_seconds).toBeGreaterThanOrEqual(50);
});

test('the gauge shows the throughput of the last minute by second, to which later readings add', async () => {
  const read = openQueueGauge();
  const completed_at = ago(5);
  for (let i = 0; i < 20; i++) await put({ status: i % 4 === 0 ? 'failed' : 'ready', completed_at });
  await put({ status: 'cancelled', completed_at: ago(40) });
  await put({ status: 'ready', completed_at: ago(120) });
  const { throughput } = await read(db.sql);
  expect(throughput).toMatchObject({ finished_per_second: 2, failed_per_second: 0.5 });
  expect(throughput.history).toHaveLength(60);
  expect(throughput.history.filter((n) => n > 0)).toEqual([1, 20]);
  await put({ status: 'ready', completed_at: ago(4) });
  const later = await read(db.sql);
  expect(later.throughput.history.reduce((sum, n) => sum + n, 0)).toBe(22);
});
