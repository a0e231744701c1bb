import { afterAll, beforeAll, expect, it } from 'vitest';
import { BATCH_WINDOW_MS } from '../../src/files/file-schema.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { MULTILINGUAL, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { batchOf } from '../support/stored-file.ts';
import { until } from '../support/until.ts';

// Batches that end early, their fallback, and what the chores remove.
const HELD_MS = 3_600_000;

let test: TestGateway;
let worker: Service;
let key: string;
beforeAll(async () => {
  test = await openTestGateway();
  key = await test.key({ scopes: ['embed', 'routing:manage'] });
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function call(method: string, path: string, json?: unknown) {
  return (await test.call(method, path, json === undefined ? { key } : { key, json })).body;
}

async function submit(texts: readonly string[], body: object = { model: SMALL }): Promise<string> {
  const lines = texts.map((input) =>
    JSON.stringify({ custom_id: input, method: 'POST', url: '/v1/embeddings', body: { input, ...body } }),
  );
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([lines.join('\n')]), 'requests.jsonl');
  const { body: file } = await test.call('POST', '/v1/files', { key, body: form });
  return (await call('POST', '/v1/batches', batchOf(file.id))).id;
}

async function ended(id: string) {
  const end = async () =>
    (await test.appliance.sql`SELECT 1 FROM batches WHERE id = ${id} AND ended_at IS NOT NULL`)[0];
  await until(end, { withinMs: 60_000, what: 'the end of the batch' });
  return call('GET', `/v1/batches/${id}`);
}

async function customIds(fileId: string): Promise<string[]> {
  const text = (await call('GET', `/v1/files/${fileId}/content`)) as string;
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).custom_id);
}

/** Run a batch whose calls after the first are not answered, until the first one is stored. */
async function begin(name: string): Promise<{ id: string; release: () => void; texts: string[] }> {
  const texts = Array.from({ length: 2_500 }, (_, i) => `${name} ${i}`);
  let calls = 0;
  let isReleased = false;
  test.upstream.decide = () => (calls++ > 0 && !isReleased ? { kind: 'delay', ms: HELD_MS } : null);
  const id = await submit(texts);
  const stored = async () => (await call('GET', `/v1/batches/${id}`)).request_counts.completed > 0;
  await until(stored, { withinMs: 60_000, what: 'the first chunk' });
  return {
    id,
    texts,
    release() {
      isReleased = true;
    },
  };
}

it('a batch in progress that is cancelled keeps its answers, and lists the other requests as cancelled', async () => {
  const { id, release, texts } = await begin('cancelled');
  expect(await call('POST', `/v1/batches/${id}/cancel`)).toMatchObject({ status: 'cancelling' });
  release();
  // The worker that is stopped gives the job back, and the next one finds that it is being cancelled.
  worker = await restarted(worker);
  const batch = await ended(id);
  expect(batch.status).toBe('cancelled');
  await expectShared(batch, texts);
  expect(await call('GET', `/v1/files/${batch.error_file_id}/content`)).toContain('"batch_cancelled"');
});

it('a batch whose completion window is over expires with the answers that it has', async () => {
  const { id, release, texts } = await begin('expired');
  await test.appliance.sql`UPDATE batches SET expires_at = now() WHERE id = ${id}`;
  release();
  worker = await restarted(worker);
  const batch = await ended(id);
  expect(batch.status).toBe('expired');
  await expectShared(batch, texts);
  expect(await call('GET', `/v1/files/${batch.error_file_id}/content`)).toContain('"batch_expired"');
});

/** Expect that each request is in one of the two files, in order, and that both have some. */
async function expectShared(batch: Record<string, string>, texts: readonly string[]): Promise<void> {
  const answered = new Set(await customIds(batch['output_file_id'] as string));
  expect(answered.size).toBeGreaterThan(0);
  expect(answered.size).toBeLessThan(texts.length);
  expect(await customIds(batch['error_file_id'] as string)).toEqual(texts.filter((text) => !answered.has(text)));
  const counts = { total: texts.length, completed: answered.size, failed: texts.length - answered.size };
  expect(batch['request_counts']).toEqual(counts);
}

async function restarted(old: Service): Promise<Service> {
  const next = test.appliance.jobs.worker('embed', { drainMs: 0 });
  await old.stop();
  await next.start(new AbortController().signal);
  return next;
}

it('the fallback finishes a batch whose model stays down, all of it in comparable vectors', async () => {
  test.upstream.decide = ({ model }) => (model === 'text-embedding-3-small' ? { kind: 'status', status: 503 } : null);
  // The breaker of a vendor counts the failures of all its models, so the fallback is of another vendor.
  await call('PUT', '/v1/routing', { primary: SMALL, fallback: MULTILINGUAL, mode: 'fallback' });
  const id = await submit(['a', 'b'], {});
  const batch = await ended(id);
  expect(batch).toMatchObject({ status: 'completed', model: MULTILINGUAL, request_counts: { total: 2, completed: 2 } });
});

it('the bytes of an output whose batch ends late are no orphan, though its id is older than the completion window', async () => {
  const { objects } = test.appliance;
  const keyOf = (ageMs: number) => `files/${test.operator.orgId}/${newId('file', Date.now() - ageMs)}`;
  const [young, old] = [keyOf(BATCH_WINDOW_MS + 3_600_000), keyOf(2 * BATCH_WINDOW_MS + 3_600_000)];
  for (const each of [young, old]) await objects.put(each, Buffer.from('output'));
  for (const chore of test.appliance.files.chores(1_000)) await chore.run(new AbortController().signal);
  expect(await objects.head(young)).not.toBeNull();
  expect(await objects.head(old)).toBeNull();
  await objects.delete(young);
});

it('expired files and old batches are removed with their bytes, and bytes that nothing needs are no orphans for long', async () => {
  test.upstream.decide = () => null;
  const { sql, objects } = test.appliance;
  const batch = await ended(await submit(['kept', 'for a while']));
  await sql`UPDATE files SET expires_at = now()`;
  await sql`UPDATE batches SET ended_at = now() - interval '10 years'`;
  const old = 'file_00000000000000000000000000';
  await objects.put(`files/${test.operator.orgId}/${old}`, Buffer.from('orphan'));
  await objects.put(`batches/${test.operator.orgId}/batch_00000000000000000000000000/00000`, Buffer.from('orphan'));
  for (const chore of [...test.appliance.files.chores(1_000), ...test.appliance.batches.chores(1_000)])
    await chore.run(new AbortController().signal);
  for (const path of [
    `/v1/batches/${batch.id}`,
    `/v1/files/${batch.output_file_id}`,
    `/v1/files/${batch.input_file_id}`,
  ]) {
    expect((await test.call('GET', path, { key })).status).toBe(404);
  }
  const left: string[] = [];
  for (const prefix of ['files/', 'batches/'])
    for await (const { key: found } of objects.list(prefix)) left.push(found);
  expect(left).toEqual([]);
});
