import { afterAll, beforeAll, expect, it } from 'vitest';
import { TaskType } from '../../src/models/task-types.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// Gemini Embedding 2 reads its task from a prompt in the text. The fake refuses calls that name a task type for it.
const MODEL = 'vendor-b/embedding-002';

let upstream: FakeUpstream;
let installation: TestAppliance;
let key: string;

beforeAll(async () => {
  upstream = await FakeUpstream.start({ dimensions: 3072 });
  installation = await openTestAppliance();
});
afterAll(async () => {
  await installation.close();
  await upstream.close();
});

async function open(settings: Record<string, unknown>): Promise<TestApi> {
  const names = { [MODEL]: 'gemini-embedding-2', 'vendor-b/embedding-001': 'gemini-embedding-001' };
  const provider = { protocol: 'gemini', base_url: upstream.baseUrl('gemini'), models: names };
  const test = await openTestApi({
    beside: installation,
    worker: false,
    settings: {
      providers: { 'vendor-b': provider },
      alias: { 'service-embed-1-small': { default: MODEL } },
      ...settings,
    },
  });
  key ??= await test.key({ authLevel: 10, scopes: ['embed', 'search', 'documents:write', 'buckets:manage'] });
  return test;
}

it('the vendor gets a prompt for each task type, and none for a text without one', async () => {
  const test = await open({});
  for (const task_type of [...TaskType.options, null]) {
    const { status, body } = await test.call('POST', '/v1/embeddings', {
      key,
      json: { input: ['ein Text'], model: MODEL, task_type },
    });
    expect([status, body.model]).toEqual([200, MODEL]);
  }
  expect(upstream.violations).toEqual([]);
  expect(upstream.calls.map(({ model, texts, taskType }) => [model, texts[0], taskType])).toEqual(
    [
      ...['task: search result | query: ', 'title: none | text: ', 'task: sentence similarity | query: '],
      ...['task: question answering | query: ', 'task: clustering | query: ', 'task: classification | query: '],
      ...['task: code retrieval | query: ', 'task: fact checking | query: ', 'task: fact checking | query: ', ''],
    ].map((prompt) => ['gemini-embedding-2', `${prompt}ein Text`, null]),
  );
  await test.close();
});

it('the model before it gets its task in the request', async () => {
  const test = await open({});
  const json = { input: 'ein Text', model: 'vendor-b/embedding-001', task_type: 'retrieval_query' };
  expect((await test.call('POST', '/v1/embeddings', { key, json })).status).toBe(200);
  expect(upstream.calls.at(-1)).toMatchObject({
    ...{ model: 'gemini-embedding-001', texts: ['ein Text'], taskType: 'RETRIEVAL_QUERY' },
  });
  await test.close();
});

it('vectors without prompts of an earlier release are not compared with new ones until the bucket is embedded again', async () => {
  const before = await open({ models: [{ id: MODEL, prefixes: {} }] });
  await before.call('POST', '/v1/buckets', { key, json: { name: 'old' } });
  const json = { filename: 'a.txt', text: 'The heron stands in the harbour.' };
  await finish(before, await before.call('POST', '/v1/buckets/old/documents', { key, json }));
  expect(upstream.calls.at(-1)?.texts).toEqual(['The heron stands in the harbour.']);
  expect(await search(before)).toMatchObject({ model: MODEL, warnings: [], results: [{}] });
  await before.close();

  const after = await open({});
  const { model, warnings } = await search(after);
  expect([model, warnings]).toEqual([null, [expect.stringContaining('move the bucket to another model')]]);
  await finish(after, await after.call('POST', '/v1/buckets/old/reembed', { key, json: {} }));
  expect(upstream.calls.at(-1)?.texts).toEqual(['title: none | text: The heron stands in the harbour.']);
  expect(await search(after)).toMatchObject({ model: MODEL, warnings: [], results: [{}] });
  expect(upstream.calls.at(-1)?.texts).toEqual(['task: search result | query: heron']);
  await after.close();
});

async function search(test: TestApi) {
  const { status, body } = await test.call('POST', '/v2/buckets/old/search', { key, json: { query: 'heron' } });
  expect(status).toBe(200);
  return body;
}

/** Work until a job is ready. */
async function finish(test: TestApi, { status, body }: { status: number; body: { job_id: string } }): Promise<void> {
  expect(status).toBe(202);
  const worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  await until(async () => (await test.call('GET', `/v1/jobs/${body.job_id}`, { key })).body.status === 'ready', {
    withinMs: 60_000,
    what: 'the job',
  });
  await worker.stop();
}
