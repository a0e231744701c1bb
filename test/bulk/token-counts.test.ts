import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { getBulkJob } from '../../src/bulk/bulk-jobs.ts';
import { BulkRequest } from '../../src/bulk/schema.ts';
import { markSwept, selectUsed } from '../../src/bulk/store.ts';
import { submitBulkJob } from '../../src/bulk/submit-bulk.ts';
import { selectTokenCounts, tokenBytes } from '../../src/bulk/token-counts-store.ts';
import { reprocessJob } from '../../src/jobs/operations.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

/** Model whose vocabulary the service has. */
const MODEL = 'vendor-a/text-embedding-3-small';
const OTHER_MODEL = 'vendor-a/text-embedding-3-large';
/** Texts of 6, 1 and 7 tokens, and one that is repeated in another chunk. */
const TEXTS = ['tiktoken is great!', ...Array.from({ length: 110 }, () => 'a'), '<|endoftext|>'];
const TOKENS = [6, ...Array.from({ length: 110 }, () => 1), 7];

const signal = new AbortController().signal;
let test: TestGateway;
let operator: Caller;

beforeAll(async () => {
  test = await openTestGateway();
  await test.appliance.access.createOrganization({ name: 'acme', plan: 'pro' });
  operator = await test.appliance.access.operator('acme');
});
afterAll(() => test.close());

async function submit(): Promise<string> {
  const request = BulkRequest.parse({ texts: TEXTS, model: MODEL });
  const { reply } = await submitBulkJob(test.appliance.bulk, operator, request, signal);
  return reply.id;
}

/** Wait for the end of a job, and return the tokens that are metered for it. */
async function meteredTokens(id: string): Promise<number> {
  await until(async () => (await getBulkJob(test.appliance.sql, operator, id)).status === 'ready', {
    withinMs: 30_000,
    what: 'job is ready',
  });
  const [used, ...others] = await selectUsed(test.appliance.sql, id);
  expect(others).toEqual([]);
  return Number(used?.tokens);
}

it('the tokens of each text are counted at submit, and go with the texts to a job that processes them again', async () => {
  const { sql, jobs } = test.appliance;
  const id = await submit();
  expect(await selectTokenCounts(sql, id)).toEqual({ model: MODEL, tokens: TOKENS });

  await sql`UPDATE jobs SET status = 'failed', completed_at = now() WHERE id = ${id}`;
  const again = await reprocessJob(jobs.operations, operator, id);
  expect(await selectTokenCounts(sql, again.id)).toEqual({ model: MODEL, tokens: TOKENS });

  await markSwept(sql, id);
  expect(await selectTokenCounts(sql, id)).toBeNull();
});

it('a worker takes the counts of the model that embeds, and counts the texts itself where there are none', async () => {
  const { sql } = test.appliance;
  const tenfold = tokenBytes(TOKENS.map((tokens) => tokens * 10));
  const counted = await submit();
  const countedByOther = await submit();
  await sql`UPDATE bulk_jobs SET token_counts = ${tenfold}::bytea`;
  await sql`UPDATE bulk_jobs SET counted_by = ${OTHER_MODEL} WHERE job_id = ${countedByOther}`;
  const ofEarlierVersion = await submit();
  await sql`UPDATE bulk_jobs SET token_counts = NULL, counted_by = NULL WHERE job_id = ${ofEarlierVersion}`;

  const worker = test.appliance.jobs.worker('embed', { drainMs: 0 });
  await worker.start(signal);
  try {
    expect(await meteredTokens(counted)).toBe(1_230);
    expect(await meteredTokens(countedByOther)).toBe(123);
    expect(await meteredTokens(ofEarlierVersion)).toBe(123);
  } finally {
    await worker.stop();
  }
});
