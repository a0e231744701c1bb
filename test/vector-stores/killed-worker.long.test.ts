import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { openStoreClient, uploadText } from '../support/vector-stores.ts';

const FILES = 200;

let test: TestApi;
let client: OpenAI;
let worker: ServiceProcess;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  client = await openStoreClient(test);
});
afterAll(async () => {
  await worker?.end('SIGKILL');
  await test.close();
});

async function startWorker(): Promise<void> {
  const env = { DATABASE_URL: test.databaseUrl, SERVICE_LOG_LEVEL: 'error' };
  worker = await startServiceProcess(['worker', 'ingest', '--data-dir', test.dataDir], env);
}

it('all files of a store end although its worker is killed among them', async () => {
  const texts = Array.from({ length: FILES }, (_, n) => `Lantern number ${n} of the harbour.`);
  const file_ids: string[] = [];
  for (const text of texts) file_ids.push(await uploadText(client, text));
  const { id } = await client.vectorStores.create({});
  const batch = await client.vectorStores.fileBatches.create(id, { file_ids });
  const read = () => client.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: id });
  await startWorker();
  await until(async () => (await read()).file_counts.completed > 0, { withinMs: 60_000, what: 'the first file' });
  await worker.end('SIGKILL');
  expect((await read()).file_counts.in_progress).toBeGreaterThan(0);
  await startWorker();
  await until(async () => (await read()).status !== 'in_progress', { withinMs: 120_000, what: 'the end of the batch' });
  expect((await read()).file_counts).toEqual({
    in_progress: 0,
    completed: FILES,
    failed: 0,
    cancelled: 0,
    total: FILES,
  });
  expect((await client.vectorStores.retrieve(id)).status).toBe('completed');
});
