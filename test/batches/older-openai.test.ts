import OpenAI, { toFile } from 'openai-6';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

// The major of the official library before the newest one.
const model = 'local/lexical-1';

let test: TestApi;
let worker: Service;
let ingest: Service;
let client: OpenAI;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
  ingest = test.appliance.jobs.worker('ingest');
  await ingest.start(new AbortController().signal);
  const scopes = ['embed', 'search', 'documents:write', 'buckets:manage'] as const;
  const apiKey = await test.key({ scopes: [...scopes] });
  client = new OpenAI({ apiKey, baseURL: `${test.api.url}/v1`, maxRetries: 0 });
});
afterAll(async () => {
  await ingest.stop();
  await worker.stop();
  await test.close();
});

it('version 6 of the OpenAI library embeds texts, and runs a batch whose answers are the same', async () => {
  const input = 'the ferry leaves at nine';
  const { data } = await client.embeddings.create({ model, input });
  const line = JSON.stringify({ custom_id: 'one', method: 'POST', url: '/v1/embeddings', body: { model, input } });
  const file = await client.files.create({ file: await toFile(Buffer.from(line), 'one.jsonl'), purpose: 'batch' });
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/embeddings',
    completion_window: '24h',
  });
  await until(async () => (await client.batches.retrieve(id)).status === 'completed', { withinMs: 60_000 });
  const { output_file_id: output } = await client.batches.retrieve(id);
  const answer = JSON.parse(await (await client.files.content(output as string)).text());
  expect(Float32Array.from(answer.response.body.data[0].embedding)).toEqual(
    Float32Array.from(data[0]?.embedding ?? []),
  );
  const listed = [];
  for await (const each of client.files.list({ limit: 1 })) listed.push(each.id);
  expect(listed).toEqual([output, file.id]);
  expect(await client.files.delete(file.id)).toMatchObject({ deleted: true });
});

it('version 6 of the OpenAI library fills a vector store and searches it', async () => {
  const store = await client.vectorStores.create({ name: 'Travel guide' });
  const file = await toFile(Buffer.from('The ferry leaves at nine.'), 'ferry.txt');
  const added = await client.vectorStores.files.uploadAndPoll(store.id, file);
  expect(added).toMatchObject({ status: 'completed', last_error: null });
  const page = await client.vectorStores.search(store.id, { query: 'when does the ferry leave' });
  expect(page.data.map(({ file_id, content }) => [file_id, content[0]?.text])).toEqual([
    [added.id, 'The ferry leaves at nine.'],
  ]);
});
