import type OpenAI from 'openai';
import { toFile } from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { batchOf } from '../support/stored-file.ts';
import { until } from '../support/until.ts';
import { openStoreClient } from '../support/vector-stores.ts';

// Files, and the inputs and outputs of batches, count for the storage of the plan.

const MODEL = 'local/lexical-1';
const STORAGE_BYTES = 2_000_000;
const FULL = { status: 402, code: 'storage_quota_exceeded' };

let test: TestApi;
let worker: Service;
beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: { plans: { free: { storage_bytes: STORAGE_BYTES } } } });
  worker = test.appliance.jobs.worker('embed');
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

const clientOf = (org: string) => openStoreClient(test, { org, scopes: ['embed'] });

async function upload(client: OpenAI, text: string, purpose: 'batch' | 'user_data' = 'user_data') {
  return (await client.files.create({ file: await toFile(Buffer.from(text), 'a.jsonl'), purpose })).id;
}

/** Submit requests of a small text, one for each given body. */
async function submit(client: OpenAI, bodies: readonly object[]) {
  const lines = bodies.map((body, nth) =>
    JSON.stringify({
      custom_id: `r${nth}`,
      method: 'POST',
      url: '/v1/embeddings',
      body: { model: MODEL, input: 'the ferry', ...body },
    }),
  );
  const id = await upload(client, lines.join('\n'), 'batch');
  return (await client.batches.create(batchOf(id) as OpenAI.BatchCreateParams)).id;
}

async function ended(client: OpenAI, id: string) {
  const end = async () => ['completed', 'failed'].includes((await client.batches.retrieve(id)).status);
  await until(end, { withinMs: 60_000, what: 'the end of the batch' });
  return client.batches.retrieve(id);
}

const repeated = (times: number) => Array.from({ length: times }, () => ({}));

it('an upload that does not fit into the storage is refused, also beside others, until another file is deleted', async () => {
  const client = await clientOf('files');
  const text = 'x'.repeat(STORAGE_BYTES / 4);
  const sent = await Promise.allSettled(Array.from({ length: 6 }, () => upload(client, text)));
  const stored = sent.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(stored).toHaveLength(4);
  for (const each of sent) if (each.status === 'rejected') expect(each.reason).toMatchObject(FULL);
  await client.files.delete(stored[0] as string);
  await upload(client, text);
  await expect(upload(client, 'x')).rejects.toMatchObject(FULL);
  const keys: string[] = [];
  const [{ id: orgId } = { id: '' }] = await test.appliance.sql`SELECT id FROM organizations WHERE name = 'files'`;
  for await (const { key } of test.appliance.objects.list(`files/${orgId}/`)) keys.push(key);
  expect(keys).toHaveLength(4);
});

it('an unfinished batch takes storage: its input even after its file is deleted, and the most that it may write', async () => {
  const client = await clientOf('unfinished');
  const { sql } = test.appliance;
  const input = await upload(client, 'x'.repeat(STORAGE_BYTES / 2), 'batch');
  const { id } = await client.batches.create(batchOf(input) as OpenAI.BatchCreateParams);
  await client.files.delete(input);
  const half = 'x'.repeat(STORAGE_BYTES / 2 + 1);
  await expect(upload(client, half)).rejects.toMatchObject(FULL);
  await sql`UPDATE batches SET output_bytes_max = ${STORAGE_BYTES / 2} WHERE id = ${id}`;
  await expect(upload(client, 'x')).rejects.toMatchObject(FULL);
  await client.batches.cancel(id);
  await upload(client, half);
});

it('a batch whose output may not fit fails before it writes any, and runs once there is room', async () => {
  await worker.start(new AbortController().signal);
  const client = await clientOf('outputs');
  const first = await ended(client, await submit(client, repeated(100)));
  expect(first.status).toBe('completed');
  const second = await ended(client, await submit(client, repeated(100)));
  expect(second).toMatchObject({ status: 'failed', output_file_id: null, error_file_id: null });
  expect(second.errors?.data?.[0]).toMatchObject({ code: 'storage_quota_exceeded', line: null });
  expect(second.errors?.data?.[0]?.message).toContain('delete documents or files');
  await client.files.delete(first.output_file_id as string);
  expect((await ended(client, await submit(client, repeated(100)))).status).toBe('completed');
});

it('the storage that a batch needs is an upper bound of its files, in every form of vectors', async () => {
  const client = await clientOf('forms');
  const forms = [undefined, 'float', 'int8', 'uint8', 'binary', 'ubinary'].flatMap((output_dtype) =>
    [undefined, 'base64'].map((encoding_format) => ({ output_dtype, encoding_format })),
  );
  for (const form of [...forms, { model: 'none' }, { input: ['a', 'b', 'a'] }, { input: '' }]) {
    const { id, output_file_id, error_file_id } = await ended(client, await submit(client, [form, form]));
    const file = await client.files.retrieve((output_file_id ?? error_file_id) as string);
    const [row] = await test.appliance.sql`SELECT output_bytes_max FROM batches WHERE id = ${id}`;
    expect(file.bytes).toBeLessThanOrEqual(Number(row?.['output_bytes_max']));
    for (const { id: each } of (await client.files.list()).data) await client.files.delete(each);
  }
});
