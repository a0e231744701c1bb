import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { connectHttp, REVISIONS, startToolServer, textOf } from './support.ts';

// Progress and cancellation of uploads.

let test: TestApi;

beforeAll(async () => {
  test = await openTestApi();
});
afterAll(() => test.close());

async function open(own: TestApi, revision: (typeof REVISIONS)[number], url = own.api.url) {
  const key = await own.key({ scopes: ['search', 'documents:write'], authLevel: 5 });
  return connectHttp((await startToolServer({ SERVICE_API_BASE_URL: url, SERVICE_API_KEY: key })).url, revision);
}

describe.each(REVISIONS)('in revision %s', (revision) => {
  it('an upload waits until searches find the document, and reports its steps', async () => {
    const client = await open(test, revision);
    const reports: { progress: number; total?: number | undefined; message?: string | undefined }[] = [];
    const text = `The lighthouse of ${revision} stands on the cliff. `.repeat(5_000);
    const uploaded = await client.callTool(
      { name: 'service_upload_document', arguments: { filename: `${revision}.txt`, text, wait_seconds: 120 } },
      { onprogress: (report) => reports.push(report), timeout: 120_000 },
    );
    expect(uploaded.structuredContent).toMatchObject({ status: 'ready' });
    expect(textOf(uploaded)).toMatch(/is stored in the bucket "default" as doc_\w+\. Searches find it now\.$/);
    const steps = reports.map(({ progress }) => progress);
    expect(steps).toEqual([...new Set(steps)].sort((one, other) => one - other));
    const last = reports.at(-1);
    expect([last?.progress, last?.message]).toEqual([last?.total, 'stored, ready']);
    const found = await client.callTool({ name: 'service_search', arguments: { query: `lighthouse ${revision}` } });
    expect(textOf(found)).toContain(`${revision}.txt`);
  });

  it('a document whose upload is cancelled during the wait is indexed all the same', async () => {
    const other = await openTestApi({ worker: false });
    onTestFinished(() => other.close());
    const client = await open(other, revision);
    const stop = new AbortController();
    const upload = { filename: 'cancelled.txt', text: 'a cormorant', wait_seconds: 120 };
    const call = client.callTool(
      { name: 'service_upload_document', arguments: upload },
      { signal: stop.signal, onprogress: ({ message }) => message?.startsWith('stored') && stop.abort() },
    );
    await expect(call).rejects.toThrow();
    const worker = other.appliance.jobs.worker('ingest');
    await worker.start(new AbortController().signal);
    onTestFinished(() => worker.stop());
    const isReady = async () =>
      (await other.appliance.sql`SELECT 1 FROM documents WHERE status = 'ready' AND file_name = ${upload.filename}`)
        .length === 1;
    await until(isReady, { what: 'ingest' });
  });

  it('a cancelled call breaks off its upload', async () => {
    const api = await startStalledApi();
    const client = await open(test, revision, api.url);
    const stop = new AbortController();
    const upload = { filename: 'large.txt', text: 'x'.repeat(8 * 1024 * 1024) };
    const call = client.callTool({ name: 'service_upload_document', arguments: upload }, { signal: stop.signal });
    const refused = expect(call).rejects.toThrow();
    await api.uploadBegan;
    stop.abort();
    await refused;
    await api.uploadBroken;
  });
});

/** Start an API that reads uploads and never answers them. */
async function startStalledApi() {
  const began = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<void>();
  const server = createServer((req, res) => {
    if (req.method === 'POST') {
      req.once('data', () => began.resolve());
      res.once('close', () => broken.resolve());
      return;
    }
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify({ paths: { '/v1/buckets/{bucket}/documents': { post: {} } } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, uploadBegan: began.promise, uploadBroken: broken.promise };
}
