import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import type { TestAppliance } from '../support/appliance.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { S3_KEYS, s3Available, startS3, type TestS3 } from '../support/s3.ts';
import { type S3Proxy, startS3Proxy } from '../support/s3-proxy.ts';
import { until } from '../support/until.ts';

// Two hosts, each with its own data directory: the front host answers requests, the back host runs the workers.
const canRun = [redisAvailable(), s3Available()].every(Boolean);

describe.skipIf(!canRun)('two hosts on PostgreSQL, Redis and S3', () => {
  let redis: TestRedis;
  let s3: TestS3;
  let proxy: S3Proxy;
  let front: TestApi;
  let back: TestApi;
  let key: string;
  const workers: Service[] = [];
  const dataDirs: string[] = [];

  const openHost = async (bucket: string, beside?: TestAppliance) => {
    const dataDir = mkdtempSync(path.join(tmpdir(), 'service-test-'));
    dataDirs.push(dataDir);
    const settings = {
      ...{ data_dir: dataDir, redis_url: redis.url, secret_key: 'the same on every host, 32 characters' },
      objects: { bucket, endpoint: proxy.endpoint, prefix: 'service/', ...S3_KEYS },
    };
    return openTestApi({ worker: false, settings, ...(beside ? { beside } : {}) });
  };

  beforeAll(async () => {
    [redis, s3] = await Promise.all([startRedis(), startS3()]);
    proxy = await startS3Proxy(s3.endpoint);
    const bucket = await s3.createBucket();
    front = await openHost(bucket);
    back = await openHost(bucket, front);
    workers.push(back.appliance.jobs.worker('ingest'), back.appliance.jobs.worker('embed'));
    for (const worker of workers) await worker.start(new AbortController().signal);
    key = await front.key({ authLevel: 5 });
  });
  afterAll(async () => {
    for (const worker of workers) await worker.stop();
    await back?.close();
    await front?.close();
    await redis?.drop();
    await proxy?.close();
    await s3?.drop();
    for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
  });

  const DOCUMENTS = '/v1/buckets/default/documents';
  const search = (host: TestApi, query: string) =>
    host.call('POST', '/v2/buckets/default/search', { key, json: { query } });
  const files = async (prefix: string) => {
    const keys: string[] = [];
    for await (const object of front.appliance.objects.list(prefix)) keys.push(object.key);
    return keys;
  };

  it('a document uploaded to one host is ingested by the other, found by both, and gone once deleted', async () => {
    const form = new FormData();
    form.append('file', new Blob(['# Ferries\n\nThe ferry to Jeju leaves at seven.\n']), '시간표.md');
    const taken = await front.call('POST', DOCUMENTS, { key, body: form });
    expect(taken.status).toBe(202);
    await until(async () => (await back.call('GET', `/v1/jobs/${taken.body.job_id}`, { key })).body.status === 'ready');
    for (const host of [front, back]) {
      const found = await search(host, 'when does the ferry leave for Jeju');
      expect(found.body.results[0]).toMatchObject({ document_id: taken.body.id });
    }
    const original = await front.call('GET', `/v1/jobs/${taken.body.job_id}/download`, { key });
    expect(original.body).toContain('leaves at seven');
    const prefix = `documents/${front.operator.orgId}/${taken.body.id}/`;
    expect((await files(prefix)).length).toBeGreaterThanOrEqual(2); // The file and its chunks.

    const gone = await back.call('DELETE', `${DOCUMENTS}/${taken.body.id}`, { key });
    expect(gone.body).toEqual({ id: taken.body.id, deleted: true });
    for (const host of [front, back]) expect((await search(host, 'ferry Jeju')).body.results).toEqual([]);
    await back.appliance.documents.purge(new AbortController().signal);
    expect(await files(prefix)).toEqual([]);
  });

  it('a bulk job submitted to one host is done by the other, and both serve its pages', async () => {
    const texts = Array.from({ length: 130 }, (_, n) => `harbour report ${n}`);
    const { status, body } = await front.call('POST', '/v1/embed/jobs', { key, json: { texts, dimensions: 64 } });
    expect(status).toBe(200);
    await until(async () => (await front.call('GET', `/v1/embed/jobs/${body.id}`, { key })).body.status === 'ready');
    const page = await front.call('GET', `/v1/embed/jobs/${body.id}/result?offset=100&limit=30`, { key });
    expect(page.status).toBe(200);
    const other = await back.call('GET', `/v1/embed/jobs/${body.id}/result?offset=100&limit=30`, { key });
    expect(other.body).toEqual(page.body);
    expect(JSON.stringify(page.body)).toContain('"index":129');
  });

  it('every part is ready on both hosts, and nothing is kept on their disks', async () => {
    for (const host of [front, back]) {
      expect((await host.call('GET', '/readyz')).body).toEqual({
        status: 'ok',
        checks: { database: 'ok', objects: 'ok', index: 'ok', redis: 'ok' },
        latency_ms: { database: expect.any(Number), objects: expect.any(Number), index: expect.any(Number) },
      });
    }
    const kept = dataDirs.flatMap((dataDir) => readdirSync(dataDir));
    expect(kept.filter((name) => ['objects', 'index', 'secret.key'].includes(name))).toEqual([]);
  });

  it('the service reports an unavailable S3, and works again once S3 is back', { timeout: 120_000 }, async () => {
    const upload = (text: string) => front.call('POST', DOCUMENTS, { key, json: { filename: 'a.txt', text } });
    const before = await upload('The lighthouse keeper left in May.');
    expect(before.status).toBe(202);
    await until(
      async () => (await front.call('GET', `/v1/jobs/${before.body.job_id}`, { key })).body.status === 'ready',
    );
    proxy.decide = () => 'cut before';
    await until(async () => (await front.call('GET', '/readyz')).status === 503);
    const { body } = await front.call('GET', '/readyz');
    expect(body).toMatchObject({
      status: 'down',
      checks: { database: 'ok', objects: expect.stringContaining('storage') },
    });
    // The front host has not searched since the upload, so it has to read the new rows. The copy of the back host, which
    // indexed the document, may already have them.
    const found = await search(front, 'lighthouse keeper');
    expect(found).toMatchObject({ status: 503, body: { detail: expect.stringContaining('index') } });
    expect((await upload('Lost.')).status).toBe(503);
    proxy.decide = () => null;
    await until(async () => (await front.call('GET', '/readyz')).status === 200);
    const after = await search(back, 'lighthouse keeper');
    expect(after.body.results[0]).toMatchObject({ document_id: before.body.id });
  });
});
