import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { findBulkJob } from '../../src/bulk/bulk.ts';
import { getBulkJob } from '../../src/bulk/bulk-jobs.ts';
import { bulkPrefix, chunkKey, inputKey, manifestKey } from '../../src/bulk/object-keys.ts';
import { readResult, renderResultPage } from '../../src/bulk/result-page.ts';
import { type BulkReply, BulkRequest } from '../../src/bulk/schema.ts';
import { countTexts } from '../../src/bulk/store.ts';
import { submitBulkJob } from '../../src/bulk/submit-bulk.ts';
import { sweepBulkOrphans, sweepBulkResults } from '../../src/bulk/sweep-bulk.ts';
import { cancelJob, deleteJob, reprocessJob } from '../../src/jobs/operations.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Behaviour, UpstreamCallSeen } from '../support/fake-upstream.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

vi.setConfig({ testTimeout: 90_000 });

/** Model of little work for the fake upstream, which runs in this process. */
const TINY = { id: 'vendor-a/tiny', vendor: 'vendor-a', dimensions: 16, max_tokens: 8_000 };

let test: TestGateway;
let operator: Caller;
let workers: Service[] = [];

beforeEach(async () => {
  test = await openTestGateway(
    { plans: { free: { quotas: { embed_batch: 1_000 } } }, models: [TINY] },
    { dimensions: { tiny: 16 } },
  );
  await test.appliance.access.createOrganization({ name: 'acme', plan: 'free' });
  operator = await test.appliance.access.operator('acme');
});
afterEach(async () => {
  for (const worker of workers) await worker.stop();
  workers = [];
  await test.close();
});

const signal = new AbortController().signal;

async function startWorker(drainMs = 0): Promise<Service> {
  const worker = test.appliance.jobs.worker('embed', { drainMs });
  await worker.start(signal);
  workers.push(worker);
  return worker;
}

async function submit(texts: readonly string[], more: object = {}): Promise<BulkReply> {
  const request = BulkRequest.parse({ texts, model: TINY.id, ...more });
  return (await submitBulkJob(test.appliance.bulk, operator, request, signal)).reply;
}

const texts = (count: number, name = 'text') => Array.from({ length: count }, (_, i) => `${name} ${i}`);
const view = (id: string) => getBulkJob(test.appliance.sql, operator, id);
const untilJob = (id: string, status: string, completed?: number) =>
  until(
    async () => {
      const job = await view(id);
      if (job.status === 'failed' && status !== 'failed') throw new Error(JSON.stringify(job.error));
      return (
        job.status === status && (completed ?? job.metadata.completed_count) === job.metadata.completed_count && job
      );
    },
    { withinMs: 60_000, what: `job is ${status}, ${completed ?? 'any'} done` },
  );
const keys = async (prefix: string) => {
  const found: string[] = [];
  for await (const { key } of test.appliance.objects.list(prefix)) found.push(key);
  return found;
};
const embedBatch = async () => (await test.appliance.usage.summarize(operator, {})).axes.embed_batch;
/** Count how often each text was sent to the upstream. */
const sent = () => {
  const counts = new Map<string, number>();
  for (const text of test.upstream.calls.flatMap((call) => call.texts)) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
};
/** Answer calls that contain this text by `behaviour`, all others normally. */
const whereText = (text: string, behaviour: Behaviour) => (call: UpstreamCallSeen) =>
  call.texts.includes(text) ? behaviour : null;
const operations = () => test.appliance.jobs.operations;

async function vectorsOf(id: string): Promise<number[][]> {
  const job = await findBulkJob(test.appliance.sql, operator.orgId, id);
  const rows: number[][] = [];
  for await (const { vectors } of readResult(test.appliance.bulk, job)) {
    for (let at = 0; at < vectors.length; at += 16) rows.push([...vectors.subarray(at, at + 16)]);
  }
  return rows;
}

/** Expect every vector of the job to belong to its text. */
async function expectAllVectors(id: string, all: readonly string[]): Promise<void> {
  const rows = await vectorsOf(id);
  expect(rows).toHaveLength(all.length);
  for (const [i, text] of all.entries()) {
    const native = test.upstream.vectorOf('tiny', text);
    const norm = Math.hypot(...native);
    for (const [axis, value] of native.entries()) expect(rows[i]?.[axis]).toBeCloseTo(value / norm, 5);
  }
}

describe('a bulk job', () => {
  it('a bulk job makes a bounded number of concurrent calls, and stores each chunk once, with a manifest', async () => {
    test.upstream.decide = () => (test.upstream.calls.length <= 8 ? { kind: 'delay', ms: 500 } : null);
    const all = texts(999);
    const { id } = await submit(all);
    await startWorker();
    await untilJob(id, 'ready', 999);
    expect(test.upstream.concurrencySeen).toBe(8);
    expect([...sent().values()].every((times) => times === 1)).toBe(true);
    await expectAllVectors(id, all);
    expect(await keys(bulkPrefix(operator.orgId, id))).toHaveLength(12);
    const manifest = JSON.parse(
      Buffer.from(await test.appliance.objects.get(manifestKey(operator.orgId, id))).toString(),
    );
    expect(manifest).toMatchObject({ job_id: id, model: TINY.id, dimensions: 16, count: 999 });
    expect(manifest.chunks[9]).toEqual({ key: chunkKey(operator.orgId, id, 9), texts: 99 });
  });

  it('a bulk job continues where the provider failed, and names the texts when it fails for good', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'status', status: 503 });
    const { id } = await submit(texts(250));
    await startWorker();
    await until(async () => {
      const [row] = await test.appliance.sql`SELECT retry_count FROM jobs WHERE id = ${id}`;
      return (row?.['retry_count'] as number) > 0;
    });
    expect((await view(id)).metadata.completed_count).toBe(150);
    expect(await countTexts(test.appliance.sql, [id, 'job_none'])).toEqual(new Map([[id, { done: 150, total: 250 }]]));
    test.upstream.decide = whereText('text 150', { kind: 'status', status: 422, body: { error: { message: 'no' } } });
    const failed = await untilJob(id, 'failed', 150);
    expect(failed.error).toMatchObject({ failed_phase: 'embedding', category: 'upstream_rejected', retryable: false });
    expect(failed.error?.message).toMatch(/^texts 100 to 199: /);
    expect(sent().get('text 0')).toBe(1);
    expect(await embedBatch()).toMatchObject({ requests: 1, texts: 150, remaining: 850 });
  });

  it('a bulk job returns to the queue at a stop without counting an attempt, and continues in another worker', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'delay', ms: 60_000 });
    const { id } = await submit(texts(250));
    const worker = await startWorker();
    await untilJob(id, 'embedding', 150);
    await worker.stop();
    const [row] = await test.appliance.sql`SELECT status, retry_count, crash_count FROM jobs WHERE id = ${id}`;
    expect(row).toEqual({ status: 'queued', retry_count: 0, crash_count: 0 });
    test.upstream.decide = () => null;
    await startWorker();
    await untilJob(id, 'ready', 250);
    expect(sent().get('text 0')).toBe(1);
    expect(await embedBatch()).toMatchObject({ requests: 1, texts: 250, remaining: 750 });
  });

  it('a bulk job never stays claimed by a worker that has stopped', async () => {
    test.upstream.decide = () => ({ kind: 'delay', ms: 60_000 });
    const { id } = await submit(texts(5));
    for (let attempt = 0; attempt < 15; attempt++) {
      const worker = await startWorker();
      // Stop the worker at a moment around its claim.
      await setTimeout(attempt);
      await worker.stop();
      expect((await view(id)).status).toBe('queued');
    }
    const [row] = await test.appliance.sql`SELECT retry_count, crash_count FROM jobs WHERE id = ${id}`;
    expect(row).toEqual({ retry_count: 0, crash_count: 0 });
  });

  it('a bulk job reuses a stored chunk whose row a crash prevented', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'delay', ms: 60_000 });
    const all = texts(250);
    const { id } = await submit(all);
    const worker = await startWorker();
    await untilJob(id, 'embedding', 150);
    await worker.stop();
    await test.appliance.sql`DELETE FROM bulk_chunks WHERE job_id = ${id}`;
    await test.appliance.objects.put(chunkKey(operator.orgId, id, 2), Buffer.from('damaged'));
    test.upstream.decide = () => null;
    await startWorker();
    await untilJob(id, 'ready', 250);
    expect(sent().get('text 0')).toBe(1);
    expect(await embedBatch()).toMatchObject({ requests: 1, texts: 250 });
    await expectAllVectors(id, all);
  });

  it('a bulk job embeds a stored chunk anew that is missing at the end', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'delay', ms: 60_000 });
    const { id } = await submit(texts(250));
    const worker = await startWorker();
    await untilJob(id, 'embedding', 150);
    await worker.stop();
    await test.appliance.objects.delete(chunkKey(operator.orgId, id, 0));
    test.upstream.decide = () => null;
    await startWorker();
    await untilJob(id, 'ready', 250);
    await expectAllVectors(id, texts(250));
  });

  it('a bulk job embeds chunks anew that are of another latent space than the last one', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'delay', ms: 60_000 });
    const { id } = await submit(texts(250));
    const worker = await startWorker();
    await untilJob(id, 'embedding', 150);
    await worker.stop();
    await test.appliance.sql`UPDATE bulk_chunks SET space = 'another' WHERE job_id = ${id} AND chunk = 0`;
    await test.appliance.sql`UPDATE bulk_chunks SET finished_at = now() WHERE job_id = ${id} AND chunk = 2`;
    test.upstream.decide = () => null;
    await startWorker();
    await untilJob(id, 'ready', 250);
    const spaces = await test.appliance.sql`SELECT DISTINCT space FROM bulk_chunks WHERE job_id = ${id}`;
    expect(spaces).toHaveLength(1);
    await expectAllVectors(id, texts(250));
  });

  it('a bulk job fails if its input is gone', async () => {
    const { id } = await submit(texts(5));
    await test.appliance.objects.delete(inputKey(operator.orgId, id));
    await startWorker();
    expect((await untilJob(id, 'failed', 0)).error).toMatchObject({ category: 'storage', retryable: false });
    expect(await embedBatch()).toMatchObject({ requests: 0, remaining: 1_000 });
  });

  it('a damaged result is never returned', async () => {
    const { id } = await submit(texts(150));
    await startWorker();
    await untilJob(id, 'ready');
    const key = chunkKey(operator.orgId, id, 1);
    const bytes = await test.appliance.objects.get(key);
    await test.appliance.objects.put(key, bytes.with(30 * 64 + 5, (bytes[30 * 64 + 5] as number) ^ 1));
    const page = (offset: number) => renderResultPage(test.appliance.bulk, operator, id, { offset, limit: 10 });
    await expect(page(125)).rejects.toMatchObject({ code: 'object_damaged', status: 500 });
    expect(JSON.parse(String(await page(131))).data).toHaveLength(10);
    await test.appliance.objects.delete(key);
    await expect(page(131)).rejects.toMatchObject({ code: 'result_not_found', status: 404 });
  });
});

describe('operations on bulk jobs', () => {
  it('cancel of a running bulk job stops its worker, and books the stored texts', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'delay', ms: 60_000 });
    const { id } = await submit(texts(250));
    await startWorker();
    await untilJob(id, 'embedding', 150);
    await expect(cancelJob(operations(), operator, id, { force: false })).rejects.toMatchObject({ status: 400 });
    expect(await cancelJob(operations(), operator, id, { force: true })).toEqual({ status: 'cancelled' });
    expect(await embedBatch()).toMatchObject({ requests: 1, texts: 150, remaining: 850 });
    await until(async () => test.upstream.calls.some((call) => call.aborted));
    expect((await view(id)).status).toBe('cancelled');
  });

  it('reprocess of a failed bulk job reuses its chunks under a new id, and reserves only the rest', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'status', status: 400, body: { error: { message: 'no' } } });
    const all = texts(900);
    const { id } = await submit(all);
    await startWorker();
    await untilJob(id, 'failed', 800);
    test.upstream.decide = () => null;
    const again = await reprocessJob(operations(), operator, id);
    expect(again).toMatchObject({ status: 'queued', reprocess_of_job_id: id, bucket_id: 'embed_bulk' });
    expect(await embedBatch()).toMatchObject({ remaining: 100 });
    await untilJob(again.id, 'ready', 900);
    await expectAllVectors(again.id, all);
    expect(sent().get('text 0')).toBe(1);
    expect(sent().get('text 150')).toBe(2);
    expect(await embedBatch()).toMatchObject({ requests: 2, texts: 900, remaining: 100 });
    expect((await view(id)).metadata.completed_count).toBe(800);
    await deleteJob(operations(), operator, id);
    expect(await keys(bulkPrefix(operator.orgId, id))).toEqual([]);
    await expectAllVectors(again.id, all);
  });

  it('reprocess of a ready bulk job embeds it anew', async () => {
    const { id } = await submit(texts(5));
    await startWorker();
    await untilJob(id, 'ready');
    const again = await reprocessJob(operations(), operator, id);
    await untilJob(again.id, 'ready', 5);
    expect(await embedBatch()).toMatchObject({ requests: 2, texts: 10 });
  });

  it('reprocess embeds all texts if the chunks were deleted with their job', async () => {
    test.upstream.decide = whereText('text 150', { kind: 'status', status: 400, body: { error: { message: 'no' } } });
    const worker = await startWorker();
    const { id } = await submit(texts(250));
    await untilJob(id, 'failed', 150);
    await worker.stop();
    test.upstream.decide = () => null;
    const again = await reprocessJob(operations(), operator, id);
    await deleteJob(operations(), operator, id);
    await startWorker();
    await untilJob(again.id, 'ready', 250);
    await expectAllVectors(again.id, texts(250));
    expect(await embedBatch()).toMatchObject({ texts: 400, remaining: 600 });
  });

  it('delete of a queued bulk job releases its reservation', async () => {
    const { id } = await submit(texts(300));
    await deleteJob(operations(), operator, id);
    expect(await embedBatch()).toMatchObject({ requests: 0, remaining: 1_000 });
    expect(await keys('bulk/')).toEqual([]);
    expect(await test.appliance.sql`SELECT 1 FROM usage_reservations`).toHaveLength(0);
  });
});

describe('files of bulk jobs', () => {
  it('files of a bulk job are removed after their retention, and its counts stay', async () => {
    const { id } = await submit(texts(150));
    await startWorker();
    await untilJob(id, 'ready');
    const queued = await submit(texts(2));
    await untilJob(queued.id, 'ready');
    await test.appliance.sql`UPDATE jobs SET completed_at = now() - interval '8 days' WHERE id = ${id}`;
    const page = () => renderResultPage(test.appliance.bulk, operator, id, { offset: 0, limit: 1 });
    await expect(page()).rejects.toMatchObject({ code: 'result_not_found', status: 404 });
    expect(await sweepBulkResults(test.appliance.bulk, signal)).toBe(1);
    expect(await sweepBulkResults(test.appliance.bulk, signal)).toBe(0);
    expect(await keys(bulkPrefix(operator.orgId, id))).toEqual([]);
    expect(await view(id)).toMatchObject({ status: 'ready', metadata: { completed_count: 150 } });
    await expect(page()).rejects.toMatchObject({ code: 'result_not_found' });
    await expect(reprocessJob(operations(), operator, id)).rejects.toMatchObject({
      code: 'input_expired',
      status: 409,
    });
    await expectAllVectors(queued.id, texts(2));
  });

  it('an input without a job is swept once it is old', async () => {
    const { objects, sql } = test.appliance;
    const { id } = await submit(texts(2));
    const old = newId('job', Date.now() - 2 * 3_600_000);
    const young = newId('job');
    for (const orphan of [old, young]) await objects.put(inputKey(operator.orgId, orphan), Buffer.from('x'));
    expect(await sweepBulkOrphans(sql, objects, 3_600_000, signal)).toBe(1);
    expect(await keys('bulk/')).toEqual([inputKey(operator.orgId, id), inputKey(operator.orgId, young)].sort());
  });

  it('a submit that is refused leaves no input behind', async () => {
    await expect(submit(texts(1_001))).rejects.toMatchObject({ code: 'quota_exceeded', status: 402 });
    expect(await keys('bulk/')).toEqual([]);
    expect(await test.appliance.sql`SELECT 1 FROM jobs`).toHaveLength(0);
    expect(await test.appliance.sql`SELECT 1 FROM usage_reservations`).toHaveLength(0);
  });
});
