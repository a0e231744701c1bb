import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { bulkOperations } from '../../src/bulk/bulk-operations.ts';
import { inputKey } from '../../src/bulk/object-keys.ts';
import { BulkRequest } from '../../src/bulk/schema.ts';
import { submitBulkJob } from '../../src/bulk/submit-bulk.ts';
import { reprocessJob } from '../../src/jobs/operations.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';

let test: TestAppliance;
/** Job that has failed. */
let origin: string;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());
beforeEach(async () => {
  const { bulk, sql, objects } = test.appliance;
  await sql`DELETE FROM jobs`;
  for (const key of await inputs()) await objects.delete(key);
  const request = BulkRequest.parse({ texts: ['a', 'b'] });
  const { reply } = await submitBulkJob(bulk, test.operator, request, new AbortController().signal);
  origin = reply.id;
  await sql`UPDATE jobs SET status = 'failed', completed_at = now() WHERE id = ${origin}`;
});

async function inputs(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of test.appliance.objects.list('bulk/')) found.push(key);
  return found;
}

const originInput = () => inputKey(test.operator.orgId, origin);

/** Process the failed job again, and do something while its input is copied. */
function reprocess(whileCopied: () => Promise<unknown>, sql: Sql = test.appliance.sql) {
  const { bulk, jobs } = test.appliance;
  const objects: Objects = Object.create(bulk.objects, {
    put: {
      value: async (...given: Parameters<Objects['put']>) => {
        await whileCopied();
        return bulk.objects.put(...given);
      },
    },
  });
  const onFailed = async () => undefined;
  const kinds = new Map([['bulk' as const, { ...bulkOperations({ ...bulk, objects }), onFailed }]]);
  return reprocessJob({ ...jobs.operations, sql: sql as typeof test.appliance.sql, kinds }, test.operator, origin);
}

it('the input of a bulk job is copied before the transaction that queues it again', async () => {
  const { sql, objects } = test.appliance;
  let transactions: unknown;
  const view = await reprocess(async () => {
    const rows = await sql`
      SELECT query FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`;
    transactions = [...rows];
  });
  expect(transactions).toEqual([]);
  expect(view).toMatchObject({ status: 'queued', s3_key: inputKey(test.operator.orgId, view.id) });
  const read = async (key: string) => Buffer.concat(await objects.stream(key).toArray());
  expect(await read(view.s3_key)).toEqual(await read(originInput()));
});

it('the copy of an input is deleted if the job cannot be queued again', async () => {
  const sweeping = reprocess(() => test.appliance.sql`UPDATE bulk_jobs SET swept_at = now() WHERE job_id = ${origin}`);
  await expect(sweeping).rejects.toMatchObject({ code: 'input_expired', status: 409 });
  expect(await inputs()).toEqual([originInput()]);
});

it('a bulk job without its input is not queued again, and leaves nothing', async () => {
  await test.appliance.objects.delete(originInput());
  await expect(reprocess(async () => undefined)).rejects.toMatchObject({ code: 'input_expired', status: 409 });
  expect(await inputs()).toEqual([]);
});

it('the copy of an input is kept if the connection is lost in the moment of the commit, since the job may be queued', async () => {
  const { sql } = test.appliance;
  const losing: Sql = new Proxy(sql, {
    get: (target, name) =>
      name !== 'begin'
        ? Reflect.get(target, name)
        : async (fn: (tx: Sql) => Promise<unknown>) => {
            await sql.begin(fn);
            throw Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' });
          },
  });
  await expect(reprocess(async () => undefined, losing)).rejects.toThrow('lost');
  const [again] = await sql`SELECT s3_key FROM jobs WHERE reprocess_of_job_id = ${origin}`;
  expect(await inputs()).toContain(again?.['s3_key']);
});
