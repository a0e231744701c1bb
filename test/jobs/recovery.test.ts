import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CRASHES_MAX, recoverJobs } from '../../src/jobs/recovery.ts';
import type { Job, JobKind } from '../../src/jobs/schema.ts';
import { touchWorker } from '../../src/jobs/worker-store.ts';
import { openQueue, type QueueUnderTest } from './queue-under-test.ts';

let queue: QueueUnderTest;

beforeAll(async () => {
  queue = await openQueue();
});
afterAll(() => queue.db.drop());
beforeEach(() => queue.clear());

describe('recovery of a job whose cleanup fails', () => {
  it('a job whose cleanup fails is logged, and the jobs behind it return to the queue or fail', async () => {
    const { sql } = queue;
    const broken = await queue.submit({ kind: 'sync' });
    await queue.claim(1, -2_000, 'sync');
    const [lost, poison] = [await queue.submit(), await queue.submit()];
    await queue.claim(2, -1_000);
    await sql`UPDATE jobs SET crash_count = ${CRASHES_MAX - 1} WHERE id IN (${broken}, ${poison})`;
    await touchWorker(sql, { id: 'wrk_old', kind: 'ingest', host: 'another', pid: 1 });
    await sql`UPDATE workers SET seen_at = now() - interval '2 days'`;

    let isFixed = false;
    const handlers = new Map<JobKind, { onFailed: (tx: unknown, job: Job) => Promise<void> }>([
      ['sync', { onFailed: async () => void (await (isFixed ? sql`SELECT 1` : sql`SELECT 1 / 0`)) }],
      ['ingest', { onFailed: async () => {} }],
    ]);
    const logged: unknown[] = [];
    const logger = { error: (fields: object) => void logged.push(fields) };
    const recover = () => recoverJobs(sql, handlers, logger as Parameters<typeof recoverJobs>[2]);

    expect(await recover()).toEqual({ requeued: 1, poisoned: 1 });
    expect([await queue.statusOf(lost), await queue.statusOf(poison)]).toEqual(['queued', 'failed']);
    expect(await queue.statusOf(broken)).toBe('extracting');
    expect(logged).toEqual([{ err: expect.objectContaining({ code: '22012' }), job_id: broken }]);
    expect(await sql`SELECT 1 FROM workers`).toHaveLength(0);

    isFixed = true;
    expect(await recover()).toEqual({ requeued: 0, poisoned: 1 });
    expect(await queue.read(broken)).toMatchObject({ status: 'failed', error_category: 'poison' });
  });
});
