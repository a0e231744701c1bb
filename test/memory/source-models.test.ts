import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { addSource, makeFolder, sync } from '../support/memory.ts';
import { until } from '../support/until.ts';

const BUILT_IN = 'local/lexical-1';
const VENDOR = 'vendor-a/alpha';

let test: TestGateway;
let worker: Service;
let key: string;
const root = makeFolder();

beforeAll(async () => {
  test = await openTestGateway(
    {
      models: [{ id: VENDOR, vendor: 'vendor-a', dimensions: 160, max_tokens: 8192 }],
      workers: { retries_max: 0 },
      sources: { docs: { type: 'folder', root: root.folder } },
    },
    { semantic: true, dimensions: { alpha: 160 } },
  );
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  const scopes = ['search', 'documents:write', 'buckets:manage', 'routing:manage', 'sources:manage'] as const;
  key = await test.key({ authLevel: 7, scopes: [...scopes] });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
  root.remove();
});

const call = (method: string, to: string, json?: unknown) =>
  test.call(method, to, { key, ...(json === undefined ? {} : { json }) });

/** Wait until all documents of the bucket are ready, and return them. */
async function documents(count: number) {
  return until(
    async () => {
      const { data } = (await call('GET', '/v1/buckets/mixed/documents')).body;
      return data.length === count && data.every((each: { status: string }) => each.status === 'ready') && data;
    },
    { withinMs: 120_000, what: 'the ingest' },
  );
}

it('documents of a source are embedded by the model of their bucket, and edits use their stored vectors', async () => {
  await call('POST', '/v1/buckets', { name: 'mixed' });
  await call('PUT', '/v1/routing', { primary: VENDOR });
  const uploaded = { filename: 'uploaded.txt', text: 'The heron stands in the shallow water.' };
  expect((await call('POST', '/v1/buckets/mixed/documents', uploaded)).status).toBe(202);
  await documents(1);
  await call('PUT', '/v1/routing', { primary: BUILT_IN });

  writeFileSync(path.join(root.folder, 'ferry.txt'), 'The ferry leaves the harbour at seven.');
  const { id } = await addSource(test, { name: 'mixed', connection: 'docs', bucket: 'mixed' });
  await sync(test, id);
  const ferry = (await documents(2)).find((each: { file_name: string }) => each.file_name === 'ferry.txt');
  expect(await modelsOf(ferry.id)).toEqual([VENDOR]);

  // An edit makes the document searchable again without the vendor.
  const calls = test.upstream.calls.length;
  const edit = await call('PATCH', `/v1/buckets/mixed/documents/${ferry.id}/metadata`, { metadata: { team: 'boats' } });
  expect(edit.body).toMatchObject({ reindex_queued: true });
  await documents(2);
  expect(test.upstream.calls.length).toBe(calls);

  // New content of the same document is embedded again, and what the edit wrote stays.
  writeFileSync(path.join(root.folder, 'ferry.txt'), 'The ferry leaves the harbour at nine in winter.');
  await sync(test, id);
  await until(
    async () => {
      const { results } = (await call('POST', '/v1/memory/search', { query: 'ferry', tags: ['team:boats'] })).body;
      return results[0]?.document_id === ferry.id && results[0].text.includes('nine');
    },
    { withinMs: 120_000, what: 'the new text' },
  );
  expect(test.upstream.calls.length).toBeGreaterThan(calls);
  expect(await modelsOf(ferry.id)).toEqual([VENDOR]);
});

/** Models of the vectors of a document that searches find. */
async function modelsOf(documentId: string): Promise<string[]> {
  const rows = await test.appliance.sql`
    SELECT generations.embed_model FROM generations JOIN documents ON documents.active_generation = generations.id
    WHERE documents.id = ${documentId}`;
  return rows.map((row) => row['embed_model'] as string);
}
