import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { getBulkJob } from '../../src/bulk/bulk-jobs.ts';
import { type BulkReply, BulkRequest } from '../../src/bulk/schema.ts';
import { submitBulkJob } from '../../src/bulk/submit-bulk.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const PRIMARY = { id: 'vendor-a/tiny', vendor: 'vendor-a', dimensions: 16, max_tokens: 8_000 };
const FALLBACK = { id: 'vendor-e/small', vendor: 'vendor-e', dimensions: 24, max_tokens: 8_000 };
const UNSERVED = { id: 'vendor-z/none', vendor: 'vendor-z', dimensions: 16, max_tokens: 8_000 };
const signal = new AbortController().signal;

let test: TestGateway;
let operator: Caller;
let worker: Service;

beforeEach(async () => {
  test = await openTestGateway(
    { models: [PRIMARY, FALLBACK, UNSERVED], workers: { retries_max: 0 }, bulk: { retry_window_hours: 24 } },
    { dimensions: { tiny: 16, small: 24 } },
  );
  operator = test.operator;
  worker = test.appliance.jobs.worker('embed', { drainMs: 0 });
  await worker.start(signal);
});
afterEach(async () => {
  await worker.stop();
  await test.close();
});

const route = (primary: string, fallback: string | null = null) =>
  test.appliance.embedding.routing.set(operator, {
    primary,
    fallback,
    mode: fallback === null ? 'single' : 'fallback',
  });

async function submit(count: number): Promise<BulkReply> {
  const texts = Array.from({ length: count }, (_, n) => `text ${n}`);
  return (await submitBulkJob(test.appliance.bulk, operator, BulkRequest.parse({ texts }), signal)).reply;
}

/** Answer calls of one protocol by an outage. */
function breakPrimary(): void {
  test.upstream.decide = ({ model }) => (model === 'tiny' ? { kind: 'status', status: 503 } : null);
}

/** Make the next attempt of a queued job due at once. @returns attempts that failed so far, with the reason */
async function advance(id: string) {
  const { sql } = test.appliance;
  const [row] = await sql`
    UPDATE jobs SET scheduled_at = NULL WHERE id = ${id} AND status = 'queued' AND scheduled_at IS NOT NULL
    RETURNING retry_count, error_category`;
  if (row) await test.appliance.notifier.notifyQueued('bulk');
  return row;
}

async function finish(id: string): Promise<void> {
  const isReady = async () => {
    await advance(id);
    const { status, error } = await getBulkJob(test.appliance.sql, operator, id);
    if (status === 'failed') throw new Error(JSON.stringify(error));
    return status === 'ready';
  };
  await until(isReady, { withinMs: 60_000, what: 'the job is ready' });
}

const textsSentTo = (upstreamModel: string) =>
  test.upstream.calls.filter(({ model }) => model === upstreamModel).flatMap(({ texts }) => texts);

async function usedModels(id: string): Promise<string[]> {
  const rows = await test.appliance.sql`SELECT used FROM bulk_chunks WHERE job_id = ${id}`;
  return [...new Set(rows.flatMap((row) => (row['used'] as { model: string }[]).map(({ model }) => model)))];
}

it('contract 1.5: a bulk job whose primary has no provider is embedded by the fallback, and says so', async () => {
  await route(UNSERVED.id, FALLBACK.id);
  const { id, model } = await submit(3);
  expect(model).toBe(FALLBACK.id);
  await finish(id);
  expect(await usedModels(id)).toEqual([FALLBACK.id]);
});

it('contract 1.5: a bulk job whose primary dies in the middle is finished by the fallback as a whole', async () => {
  await route(PRIMARY.id, FALLBACK.id);
  let answered = 0;
  test.upstream.decide = ({ model }) => (model === 'tiny' && ++answered > 1 ? { kind: 'status', status: 503 } : null);
  const { id, model } = await submit(1_500);
  expect(model).toBe(PRIMARY.id);
  await finish(id);
  expect(await usedModels(id)).toEqual([FALLBACK.id]);
  expect(textsSentTo('small')).toHaveLength(1_500);
});

it('contract 1.5: a bulk job that the fallback takes over has what a single request has: its name and default dimension', async () => {
  await route(PRIMARY.id, FALLBACK.id);
  breakPrimary();
  const single = await test.appliance.embedding.embedder.embed({ texts: ['a'], orgId: operator.orgId, charge: null });
  expect([single.model, single.dimensions]).toEqual([FALLBACK.id, 24]);
  const { id } = await submit(3);
  await finish(id);
  const { metadata } = await getBulkJob(test.appliance.sql, operator, id);
  expect(metadata).toMatchObject({ model: single.model, dimensions: null });
  const [row] = await test.appliance.sql`SELECT vector_dimensions FROM bulk_jobs WHERE job_id = ${id}`;
  expect(row).toEqual({ vector_dimensions: single.dimensions });
});

it('contract 1.5: a bulk job submitted while the breaker of the primary is open is given to the fallback', async () => {
  await route(PRIMARY.id, FALLBACK.id);
  breakPrimary();
  const { embedder } = test.appliance.embedding;
  for (let call = 0; call < 5; call++)
    await embedder.embed({ texts: [`call ${call}`], orgId: operator.orgId, charge: null });
  const before = textsSentTo('tiny').length;
  const { id, model } = await submit(3);
  expect(model).toBe(FALLBACK.id);
  await finish(id);
  const { metadata } = await getBulkJob(test.appliance.sql, operator, id);
  expect([metadata.model, await usedModels(id)]).toEqual([FALLBACK.id, [FALLBACK.id]]);
  expect(textsSentTo('tiny')).toHaveLength(before);
});

it('a bulk job outlives an outage of its only model, and embeds nothing twice', async () => {
  await route(PRIMARY.id);
  breakPrimary();
  const { id } = await submit(250);
  const failures: unknown[] = [];
  // Attempts of a long outage; each one that is put off shows when it is due, and why it waits.
  await until(
    async () => {
      const put = await advance(id);
      if (put) failures.push(put);
      return failures.length === 8;
    },
    { withinMs: 60_000, what: 'eight attempts' },
  );
  expect(failures.at(-1)).toMatchObject({ error_category: 'upstream_unavailable' });
  expect(Number((failures.at(-1) as { retry_count: number }).retry_count)).toBeGreaterThan(5);
  const before = textsSentTo('tiny').length;
  test.upstream.decide = () => null;
  await finish(id);
  expect(await usedModels(id)).toEqual([PRIMARY.id]);
  expect(textsSentTo('tiny').length - before).toBe(250);
});
