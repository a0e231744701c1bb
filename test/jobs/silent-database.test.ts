import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/jobs/lease.ts';
import { LeaseLapsed } from '../../src/jobs/lease.ts';
import { type Database, openPostgres } from '../../src/platform/postgres.ts';
import { openPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';
import { openQueue, type QueueUnderTest } from './queue-under-test.ts';

let queue: QueueUnderTest;
let proxy: PostgresProxy;
let sql: Database;

beforeAll(async () => {
  queue = await openQueue();
});
afterAll(() => queue.db.drop());
beforeEach(async () => {
  await queue.clear();
  proxy = await openPostgresProxy(queue.db.connection);
  sql = openPostgres(proxy.connection, { poolMax: 3, applicationName: 'behind-proxy' });
  return async () => {
    await sql.end({ timeout: 1 });
    await proxy.close();
  };
});

const untilAborted = (lease: Lease) =>
  new Promise<never>((_resolve, reject) => lease.signal.addEventListener('abort', () => reject(lease.signal.reason)));

const counts = async (id: string) =>
  (await queue.sql`SELECT status, crash_count, retry_count FROM jobs WHERE id = ${id}`)[0];

describe('a worker whose database does not answer', () => {
  it('stops a job whose renewal is never answered, before its lease expires, without counting an attempt', async () => {
    const job = await queue.submit();
    let reason: unknown = null;
    const run = (lease: Lease) => {
      if (lease.job.fence > 1) return queue.complete(lease);
      lease.signal.addEventListener('abort', () => {
        reason = lease.signal.reason;
      });
      return untilAborted(lease);
    };
    const worker = queue.worker({ run }, { leaseMs: 2_000 }, sql);
    await worker.start();
    await until(async () => (await queue.statusOf(job)) === 'extracting');
    proxy.freeze();
    const frozenMs = performance.now();
    await until(async () => reason !== null, { what: 'the abort of the job' });
    expect(performance.now() - frozenMs).toBeLessThan(2_000);
    expect(reason).toBeInstanceOf(LeaseLapsed);
    proxy.thaw();
    await proxy.cut();
    await proxy.open();
    await until(async () => (await queue.statusOf(job)) === 'ready', { what: 'the second attempt' });
    await worker.stop();
    expect(await counts(job)).toEqual({ status: 'ready', crash_count: 0, retry_count: 0 });
  });
});
