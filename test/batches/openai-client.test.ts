import type OpenAI from 'openai';
import { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { openStoreClient } from '../support/vector-stores.ts';

// Files and batches through the official OpenAI library as published on npm, against a whole installation.

const MODEL = 'local/lexical-1';

let test: TestApi;
let worker: Service;
let client: OpenAI;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  client = await clientOf('default');
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

const clientOf = (org: string) => openStoreClient(test, { org, scopes: ['embed'] });

const request = (id: string, input: string | string[], more: object = {}) => ({
  custom_id: id,
  method: 'POST',
  url: '/v1/embeddings',
  body: { model: MODEL, input, ...more },
});

async function upload(lines: readonly (object | string)[], name = 'requests.jsonl') {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  return client.files.create({ file: await toFile(Buffer.from(text), name), purpose: 'batch' });
}

async function run(lines: readonly (object | string)[], more: object = {}) {
  const { id } = await upload(lines);
  const batch = await client.batches.create({
    input_file_id: id,
    endpoint: '/v1/embeddings',
    completion_window: '24h',
    ...more,
  });
  expect(batch).toMatchObject({ object: 'batch', status: 'validating', input_file_id: id });
  return ended(batch.id);
}

async function ended(id: string) {
  const ends = ['completed', 'failed', 'expired', 'cancelled'];
  let batch = await client.batches.retrieve(id);
  await until(
    async () => {
      batch = await client.batches.retrieve(id);
      return ends.includes(batch.status);
    },
    { withinMs: 60_000, what: 'the end of the batch' },
  );
  return batch;
}

async function linesOf(fileId: string | null | undefined) {
  const text = await (await client.files.content(fileId as string)).text();
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

it('the OpenAI library uploads, lists, reads and deletes files', async () => {
  const file = await client.files.create({
    file: await toFile(Buffer.from('notes of the ferry'), 'notes ✓.txt'),
    purpose: 'user_data',
    expires_after: { anchor: 'created_at', seconds: 7_200 },
  });
  expect(file).toMatchObject({ object: 'file', bytes: 18, filename: 'notes ✓.txt', purpose: 'user_data' });
  expect(file.expires_at).toBe(file.created_at + 7_200);
  expect(await client.files.retrieve(file.id)).toEqual(file);
  expect(await (await client.files.content(file.id)).text()).toBe('notes of the ferry');
  const others = [await upload(['{}'], 'a.jsonl'), await upload(['{}'], 'b.jsonl')];
  const found: string[] = [];
  for await (const each of client.files.list({ limit: 1, order: 'asc' })) found.push(each.id);
  expect(found).toEqual([file.id, ...others.map(({ id }) => id)]);
  const ofPurpose = await client.files.list({ purpose: 'batch' });
  expect(ofPurpose.data.map(({ id }) => id)).toEqual(others.map(({ id }) => id).toReversed());
  expect(others[0]?.expires_at).toBe((others[0]?.created_at ?? 0) + 30 * 24 * 3_600);
  expect(await client.files.delete(file.id)).toEqual({ id: file.id, object: 'file', deleted: true });
  await expect(client.files.retrieve(file.id)).rejects.toMatchObject({ status: 404, code: 'file_not_found' });
  for (const { id } of others) await client.files.delete(id);
});

it('a list goes on after items that are deleted meanwhile, and refuses what is no id of it', async () => {
  const other = await clientOf('deleting');
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const file = await toFile(Buffer.from('{}'), `${name}.jsonl`);
    ids.push((await other.files.create({ file, purpose: 'batch' })).id);
  }
  for (const id of ids) {
    await other.batches.create({ input_file_id: id, endpoint: '/v1/embeddings', completion_window: '24h' });
  }
  const open = async () => (await test.appliance.sql`SELECT 1 FROM batches WHERE ended_at IS NULL`).length;
  await until(async () => (await open()) === 0, { withinMs: 60_000, what: 'the end of the batches' });
  const deleted: string[] = [];
  for await (const { id } of other.files.list({ limit: 1, purpose: 'batch' })) {
    await other.files.delete(id);
    deleted.push(id);
  }
  expect(deleted).toEqual(ids.toReversed());
  const batches: string[] = [];
  for await (const { id } of other.batches.list({ limit: 1 })) {
    await test.appliance.sql`DELETE FROM batches WHERE id = ${id}`;
    batches.push(id);
  }
  expect(batches).toEqual(batches.toSorted().toReversed());
  expect(batches).toHaveLength(5);
  for (const after of ['none', 'batch_0', '']) {
    await expect(other.files.list({ after })).rejects.toMatchObject({ status: 400, param: 'after' });
  }
  await expect(other.batches.list({ after: 'file_0' })).rejects.toMatchObject({ status: 400, param: 'after' });
});

it('the OpenAI library runs a batch, whose answers are those of single requests under their custom_id', async () => {
  const lines = [
    request('one', 'the ferry leaves at nine'),
    request('many', ['a harbour', 'the ferry leaves at nine', '항구']),
    request('small', 'a harbour', { dimensions: 256 }),
    request('as base64', 'a harbour', { encoding_format: 'base64' }),
    request('as bytes', 'a harbour', { output_dtype: 'int8' }),
  ];
  const batch = await run(lines, { metadata: { team: 'search' } });
  expect(batch).toMatchObject({ status: 'completed', metadata: { team: 'search' }, model: MODEL, errors: null });
  expect(batch.request_counts).toEqual({ total: 5, completed: 5, failed: 0 });
  expect(batch.error_file_id).toBeNull();
  const answers = await linesOf(batch.output_file_id);
  expect(answers.map(({ custom_id }) => custom_id)).toEqual(lines.map(({ custom_id }) => custom_id));
  for (const [index, { response, error }] of answers.entries()) {
    expect([response.status_code, error]).toEqual([200, null]);
    const body = { ...(lines[index] as ReturnType<typeof request>).body, encoding_format: 'float' as const };
    const single = await client.embeddings.create(body);
    const { data, ...rest } = response.body;
    if (typeof data[0].embedding === 'string') {
      const bytes = Buffer.from(data[0].embedding, 'base64');
      const floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
      expect(floats).toEqual(Float32Array.from(single.data[0]?.embedding ?? []));
    } else expect(data).toEqual(single.data);
    expect(rest).toEqual({ object: single.object, model: single.model, usage: single.usage });
  }
  const file = await client.files.retrieve(batch.output_file_id as string);
  expect(file).toMatchObject({ purpose: 'batch_output', filename: `${batch.id}_output.jsonl` });
  const listed = await client.batches.list({ limit: 1 });
  expect(listed.data.map(({ id }) => id)).toEqual([batch.id]);
});

it('a text that occurs again is embedded and counted once', async () => {
  const used = async () => {
    const { body } = await test.call('GET', '/v1/usage/summary', { key: client.apiKey as string });
    return body.axes.embed_batch?.texts ?? 0;
  };
  const before = await used();
  const batch = await run(Array.from({ length: 300 }, (_, i) => request(`r${i}`, `only ${i % 3} differ`)));
  expect(batch.request_counts).toEqual({ total: 300, completed: 300, failed: 0 });
  expect((await used()) - before).toBe(3);
});

it('each bad line is one line of the error file, which names line and column of broken JSON', async () => {
  const long = 'harbour '.repeat(200_000);
  const batch = await run([
    request('good', 'a harbour'),
    '{"custom_id": "broken", "method": nothing}',
    '',
    { ...request('other', 'x'), url: '/v1/chat/completions' },
    request('unknown', 'x', { model: 'nobody/nothing' }),
    request('long', ['a harbour', long]),
    request('ids', [[1, 2]] as never),
    request('last', 'a harbour'),
  ]);
  expect(batch.status).toBe('completed');
  expect(batch.request_counts).toEqual({ total: 7, completed: 2, failed: 5 });
  expect((await linesOf(batch.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(['good', 'last']);
  const errors = await linesOf(batch.error_file_id);
  expect(errors.map(({ custom_id }) => custom_id)).toEqual([null, 'other', 'unknown', 'long', 'ids']);
  expect(errors[0].error).toEqual({ code: 'invalid_json', message: 'line 2, column 35: is not valid JSON' });
  expect(errors[1].error.message).toContain('line 4: url');
  expect(errors[2].response).toMatchObject({ status_code: 400, body: { error: { code: 'unknown_model' } } });
  expect(errors[3].response.body.error).toMatchObject({ code: 'token_limit_exceeded', param: 'input[1]' });
  expect(errors[3].response.body.error.message).toMatch(/^input\[1\] has/);
  expect(errors[4].error.message).toContain('line 7: body.input[0]');
});

describe('an input of which no request is run', () => {
  it('a custom_id that occurs twice fails the batch and is named with its line', async () => {
    const batch = await run([request('same', 'a'), request('other', 'b'), request('same', 'c')]);
    expect(batch).toMatchObject({ status: 'failed', output_file_id: null, error_file_id: null });
    expect(batch.errors?.data).toEqual([
      {
        code: 'duplicate_custom_id',
        line: 3,
        message: 'line 3: has the same custom_id as line 1; each request needs its own',
        param: 'custom_id',
      },
    ]);
  });

  it('a file without requests fails the batch', async () => {
    expect((await run(['', ' '])).errors?.data).toMatchObject([{ code: 'empty_file' }]);
  });

  it('a file of more than 50,000 texts fails the batch, and names the line', async () => {
    const texts = Array.from({ length: 100 }, () => 'x');
    const batch = await run(Array.from({ length: 501 }, (_, i) => request(`r${i}`, texts)));
    expect(batch.errors?.data).toMatchObject([{ code: 'text_limit_exceeded', line: 501 }]);
  });
});

it('a batch finishes although its input file is deleted while it waits', async () => {
  await worker.stop();
  const { id } = await upload([request('kept', 'a harbour')]);
  const { id: batchId } = await client.batches.create({
    input_file_id: id,
    endpoint: '/v1/embeddings',
    completion_window: '24h',
  });
  await client.files.delete(id);
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
  expect((await ended(batchId)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
  const isKept = async () => (await test.appliance.objects.head(`files/${test.operator.orgId}/${id}`)) !== null;
  await until(async () => !(await isKept()), { what: 'the removal of the input' });
});

it('a batch that no worker has begun is cancelled at once, and an ended one cannot be cancelled', async () => {
  await worker.stop();
  const { id } = await upload([request('never', 'a harbour')]);
  const made = await client.batches.create({
    input_file_id: id,
    endpoint: '/v1/embeddings',
    completion_window: '24h',
  });
  expect(await client.batches.cancel(made.id)).toMatchObject({ status: 'cancelled', output_file_id: null });
  await expect(client.batches.cancel(made.id)).rejects.toMatchObject({ status: 409, code: 'batch_ended' });
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
});

it('a key without the scope embed reads no file and no batch, since they hold texts', async () => {
  const { id } = await upload([request('a', 'the ferry leaves at nine')]);
  const search = await test.key({ scopes: ['search'] });
  for (const path of [
    '/v1/files',
    `/v1/files/${id}`,
    `/v1/files/${id}/content`,
    '/v1/batches',
    '/v1/batches/batch_none',
  ])
    expect([path, (await test.call('GET', path, { key: search })).status]).toEqual([path, 403]);
});

it('wrong requests are refused in the shape of OpenAI, and files of another organization are not found', async () => {
  const { id } = await upload([request('a', 'x')]);
  const make = (more: object) =>
    client.batches.create({
      input_file_id: id,
      endpoint: '/v1/embeddings',
      completion_window: '24h',
      ...more,
    } as never);
  await expect(make({ endpoint: '/v1/chat/completions' })).rejects.toMatchObject({ status: 400, param: 'endpoint' });
  await expect(make({ completion_window: '1h' })).rejects.toMatchObject({ status: 400, param: 'completion_window' });
  await expect(make({ input_file_id: 'file_none' })).rejects.toMatchObject({ status: 404, code: 'file_not_found' });
  const file = await toFile(Buffer.from('x'), 'x.txt');
  await expect(client.files.create({ file, purpose: 'fine-tune' })).rejects.toMatchObject({
    status: 400,
    type: 'invalid_request_error',
    param: 'purpose',
  });
  const notes = await client.files.create({ file, purpose: 'user_data' });
  await expect(make({ input_file_id: notes.id })).rejects.toMatchObject({ status: 400, param: 'input_file_id' });
  const other = await clientOf('other');
  await expect(other.files.retrieve(id)).rejects.toMatchObject({ status: 404 });
  await expect(other.files.content(id)).rejects.toMatchObject({ status: 404 });
  await expect(other.files.delete(id)).rejects.toMatchObject({ status: 404 });
  const theirs = { input_file_id: id, endpoint: '/v1/embeddings', completion_window: '24h' } as const;
  await expect(other.batches.create(theirs)).rejects.toMatchObject({ status: 404 });
  const [batch] = (await client.batches.list({ limit: 1 })).data;
  await expect(other.batches.retrieve(batch?.id as string)).rejects.toMatchObject({ status: 404 });
  await expect(other.batches.cancel(batch?.id as string)).rejects.toMatchObject({ status: 404 });
});
