import { afterAll, beforeAll, expect, it } from 'vitest';
import { IN_PROGRESS, JOB_STATUSES, type JobStatus, UNFINISHED } from '../../src/jobs/schema.ts';
import { isFinished, isInProgress, isUnfinished } from '../../src/jobs/state-store.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const statesThat = async (condition: typeof isInProgress): Promise<string[]> => {
  const all = db.sql.array([...JOB_STATUSES]);
  const rows = await db.sql`
    SELECT status FROM unnest(${all}::text[]) AS jobs (status) WHERE ${condition(db.sql)}`;
  return rows.map((row) => row['status'] as string);
};

it('conditions on the state of a job name the states of the schema', async () => {
  expect(await statesThat(isInProgress)).toEqual([...IN_PROGRESS]);
  expect(await statesThat(isUnfinished)).toEqual([...UNFINISHED]);
  const finished = JOB_STATUSES.filter((status: JobStatus) => !(UNFINISHED as readonly string[]).includes(status));
  expect(await statesThat(isFinished)).toEqual(finished);
});

it('PostgreSQL finds lost leases by the partial index of jobs in progress', async () => {
  const plan = await db.sql.begin(async (tx) => {
    await tx`SET LOCAL enable_seqscan = off`;
    return tx`EXPLAIN SELECT * FROM jobs WHERE ${isInProgress(tx)} AND lease_expires_at < now()`;
  });
  expect(JSON.stringify(plan)).toContain('jobs_by_lease');
});
