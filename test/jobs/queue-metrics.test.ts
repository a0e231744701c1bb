import { afterAll, beforeAll, expect, test } from 'vitest';
import { openQueueMetrics } from '../../src/jobs/queue-metrics.ts';
import { newId } from '../../src/platform/ids.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_a', 'a', 'free'), ('org_b', 'b', 'free')`;
});
afterAll(() => db.drop());

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);

async function put(row: Record<string, unknown>) {
  const job = {
    ...{ id: newId('job'), kind: 'ingest', org_id: 'org_a', bucket_id: 'b', fair_rank: 0, status: 'queued' },
    ...{ s3_key: 'k', file_name: 'f', file_size: 1, ...row },
  };
  await db.sql`INSERT INTO jobs ${db.sql(job)}`;
}

test('the metrics show the depth and age of queues, and the ages of leases by kind, without organizations', async () => {
  await put({ priority: 0, kind: 'bulk', org_id: 'org_b' });
  await put({ created_at: ago(100) });
  await put({ org_id: 'org_b', created_at: ago(40), scheduled_at: ago(-60) });
  const lease = { status: 'embedding', started_at: ago(500), checkpoint_at: ago(300) };
  await put({ ...lease, lease_expires_at: ago(200) });
  const metrics = openMetrics();
  openQueueMetrics(metrics, db.sql);
  const text = await metrics.registry.metrics();
  const value = (sample: string) => {
    const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
    return line === undefined ? null : Number(line.slice(sample.length));
  };
  expect(value('service_jobs_queued{kind="bulk",priority="0"}')).toBe(1);
  expect(value('service_jobs_queued{kind="ingest",priority="2"}')).toBe(2);
  expect(value('service_jobs_delayed{kind="ingest",priority="2"}')).toBe(1);
  expect(value('service_jobs_in_progress{kind="ingest",priority="2"}')).toBe(1);
  expect(value('service_jobs_oldest_queued_seconds{kind="ingest",priority="2"}')).toBeGreaterThan(90);
  expect(value('service_jobs_oldest_lease_seconds{kind="ingest"}')).toBeGreaterThan(490);
  expect(value('service_jobs_idle_lease_seconds{kind="ingest"}')).toBeGreaterThan(290);
  expect(value('service_jobs_lease_overdue_seconds{kind="ingest"}')).toBeGreaterThan(190);
  expect(value('service_jobs_lease_overdue_seconds{kind="bulk"}')).toBe(0);
  expect(text).not.toContain('org_a');
});
