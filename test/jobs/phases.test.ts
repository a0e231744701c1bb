import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Lease, LeaseLost } from '../../src/jobs/lease.ts';
import { claimJobs, enqueueJob } from '../../src/jobs/store.ts';
import { newId } from '../../src/platform/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const RESULT = { chunksCount: 1, fileType: 'txt', actualCost: 0 };
let db: TestDatabase;
let lease: Lease;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_a', 'org_a', 'free')`;
  // Every status that a job had, in order.
  await db.sql`CREATE TABLE statuses (n serial, id text, status text)`;
  await db.sql`CREATE FUNCTION note_status() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO statuses (id, status) VALUES (new.id, new.status); RETURN new; END'`;
  await db.sql`CREATE TRIGGER note_status BEFORE UPDATE OF status ON jobs FOR EACH ROW EXECUTE FUNCTION note_status()`;
});
afterAll(() => db.drop());

beforeEach(async () => {
  await enqueueJob(db.sql, {
    ...{ id: newId('job'), kind: 'ingest', orgId: 'org_a', bucketId: 'bkt_x', priority: 2 },
    ...{ s3Key: 'k', fileName: 'f', fileSizeBytes: 1, processingType: 'test' },
  });
  const claim = { kind: 'ingest', workerId: 'wrk_t', firstPhase: 'extracting', leaseMs: 60_000, limit: 1 } as const;
  const [job] = await claimJobs(db.sql, { ...claim, suspects: 'none' });
  if (!job) throw new Error('no job was claimed');
  lease = new Lease(db.sql, job, 'extracting');
});

async function statuses(): Promise<string[]> {
  const rows = await db.sql`SELECT status FROM statuses WHERE id = ${lease.job.id} ORDER BY n`;
  return rows.map((row) => row['status'] as string);
}

it('only the phases that last are written', async () => {
  await lease.advance('chunking');
  await lease.advance('embedding');
  await until(async () => (await statuses()).includes('embedding'));
  await lease.advance('indexing');
  await db.sql.begin((tx) => lease.complete(tx, RESULT));
  expect(await statuses()).toEqual(['extracting', 'embedding', 'ready']);
  expect(lease.phase).toBe('indexing');
});

it('a job that another worker has claimed stops, and its next phase and its end are refused', async () => {
  await db.sql`UPDATE jobs SET fence = fence + 1 WHERE id = ${lease.job.id}`;
  await lease.advance('chunking');
  await until(async () => lease.signal.aborted);
  expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
  await expect(lease.advance('embedding')).rejects.toBeInstanceOf(LeaseLost);
  await expect(db.sql.begin((tx) => lease.complete(tx, RESULT))).rejects.toBeInstanceOf(LeaseLost);
  expect(await statuses()).toEqual(['extracting']);
});
