import { expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../src/access/caller.ts';
import { type Answer, openTestApi } from '../support/api.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';
import { DOCUMENTS, jobsUnderTest } from './jobs-under-test.ts';

const fixture = jobsUnderTest();

it('GET /v1/jobs filters by state and by the id or name of a bucket, newest first, up to the limit', async () => {
  const { body: bucket } = await fixture.call('POST', '/v1/buckets', {
    key: await fixture.test.key({ scopes: ['buckets:manage'] }),
    json: { name: 'listed' },
  });
  const jobs: string[] = [];
  for (let i = 0; i < 3; i++) {
    const json = { filename: 'a.txt', text: `Listed ${i}` };
    jobs.unshift((await fixture.call('POST', '/v1/buckets/listed/documents', { json })).body.job_id);
  }
  await fixture.call('POST', `/v1/jobs/${jobs[1]}/cancel`);
  const ids = async (query: string) => {
    const { status, body } = await fixture.call('GET', `/v1/jobs?${query}`);
    expect(status).toBe(200);
    return body.map((job: { id: string }) => job.id);
  };
  expect(await ids('bucket_id=listed')).toEqual(jobs);
  expect(await ids(`bucket_id=${bucket.id}`)).toEqual(jobs);
  expect(await ids('bucket_id=listed&status=queued')).toEqual([jobs[0], jobs[2]]);
  expect(await ids('bucket_id=listed&limit=2')).toEqual(jobs.slice(0, 2));
  expect(await ids('bucket_id=none')).toEqual([]);
  expect((await ids('')).slice(0, 3)).toEqual(jobs);
});

it('GET /v1/jobs lists ingest and bulk jobs', async () => {
  const orgId = fixture.test.operator.orgId;
  await fixture.test.appliance.sql`
      INSERT INTO jobs (id, kind, org_id, bucket_id, fair_rank, status, s3_key, file_name, file_size, file_type)
      VALUES ('job_bulk', 'bulk', ${orgId}, 'embed_bulk', 0, 'ready', 'bulk/input', 'embed_bulk', 0, 'embed_bulk')`;
  const { body } = await fixture.call('GET', '/v1/jobs?bucket_id=embed_bulk');
  expect(body).toMatchObject([{ id: 'job_bulk', bucket_id: 'embed_bulk', document_id: null, file_type: 'embed_bulk' }]);
  expect((await fixture.call('GET', '/v1/jobs/job_bulk/files')).body).toEqual({
    object: 'list',
    data: [],
    has_more: false,
  });
  expect((await fixture.call('GET', '/v1/jobs/job_bulk/download')).status).toBe(404);
});

it.each(['limit=0', 'limit=201', 'limit=', 'limit=x', 'limit=1.5', 'limit=1&limit=2', 'status=done', 'status='])(
  'GET /v1/jobs refuses %s',
  async (query) => {
    const { status, body } = await fixture.call('GET', `/v1/jobs?${query}`);
    expect([status, Object.keys(body)]).toEqual([400, ['detail']]);
  },
);

it('contract 3.2: a queued job is cancelled, reprocessed and deleted, and its document stays', async () => {
  const { id, job_id } = await fixture.upload({ text: 'A curlew calls.' });
  const refused = await fixture.call('POST', `/v1/jobs/${job_id}/reprocess`);
  expect([refused.status, refused.body]).toEqual([400, { detail: expect.stringContaining('queued') }]);
  const cancelled = await fixture.call('POST', `/v1/jobs/${job_id}/cancel`);
  expect([cancelled.status, cancelled.body]).toEqual([200, { status: 'cancelled' }]);
  expect((await fixture.call('GET', `${DOCUMENTS}/${id}`)).body).toMatchObject({
    status: 'failed',
    error_message: 'its job was cancelled; reprocess the job',
  });
  const again = await fixture.call('POST', `/v1/jobs/${job_id}/cancel`);
  expect([again.status, again.body]).toEqual([
    200,
    { status: 'cancelled', detail: 'the job is already terminal: it is cancelled' },
  ]);
  const reprocessed = await fixture.call('POST', `/v1/jobs/${job_id}/reprocess`);
  expect([reprocessed.status, reprocessed.body]).toEqual([
    200,
    expect.objectContaining({ status: 'queued', reprocess_of_job_id: job_id, document_id: id, priority: 2 }),
  ]);
  await fixture.withWorker(async () => {
    expect(await fixture.awaitEnd(reprocessed.body.id)).toMatchObject({ status: 'ready' });
  });
  const deleted = await fixture.call('DELETE', `/v1/jobs/${reprocessed.body.id}`);
  expect([deleted.status, deleted.body]).toEqual([204, '']);
  expect((await fixture.call('GET', `/v1/jobs/${reprocessed.body.id}`)).status).toBe(404);
  expect((await fixture.call('GET', `${DOCUMENTS}/${id}`)).body).toMatchObject({
    status: 'ready',
    error_message: null,
  });
  const json = { query: 'A curlew' };
  const search = await fixture.call('POST', '/v2/buckets/default/search', {
    key: await fixture.test.key({ scopes: ['search'] }),
    json,
  });
  expect(search.body.results.map((result: { document_id: string }) => result.document_id)).toContain(id);
});

it.each(['extracting', 'chunking', 'embedding', 'indexing'])(
  'a job that is %s is cancelled by force, and neither reprocessed nor deleted',
  async (status) => {
    const id = await fixture.jobIn(status);
    const path = `/v1/jobs/${id}`;
    for (const refused of [
      await fixture.call('POST', `${path}/cancel`),
      await fixture.call('POST', `${path}/cancel?force=false`),
      await fixture.call('POST', `${path}/reprocess`),
      await fixture.call('DELETE', path),
    ]) {
      expect([refused.status, refused.body]).toEqual([400, { detail: expect.stringContaining(status) }]);
    }
    expect((await fixture.call('GET', path)).body.status).toBe(status);
    const cancelled = await fixture.call('POST', `${path}/cancel?force=true`);
    expect([cancelled.status, cancelled.body]).toEqual([200, { status: 'cancelled' }]);
  },
);

it('a cancel aborts the upstream call of the job at once', async () => {
  const upstream = await FakeUpstream.start({ dimensions: 1536 });
  upstream.decide = () => ({ kind: 'stall' });
  const provider = { protocol: 'openai', base_url: upstream.baseUrl('openai'), timeout_seconds: 600, retries_max: 0 };
  const workers = { lease_seconds: 3600 }; // The first heartbeat comes after a quarter of that.
  const other = await openTestApi({ settings: { providers: { 'vendor-a': provider }, workers } });
  const callerKey = await other.key({ scopes: [...SCOPES], authLevel: 10 });
  const json = { primary: 'vendor-a/text-embedding-3-small' };
  expect((await other.call('PUT', '/v1/routing', { key: callerKey, json })).status).toBe(200);
  const document = { filename: 'slow.txt', text: 'Very slow.' };
  const { job_id } = (await other.call('POST', DOCUMENTS, { key: callerKey, json: document })).body;
  const seen = await until(async () => upstream.calls[0]);
  const { body } = await other.call('POST', `/v1/jobs/${job_id}/cancel?force=true`, { key: callerKey });
  expect(body).toEqual({ status: 'cancelled' });
  await until(async () => seen.aborted);
  expect((await other.call('GET', `/v1/jobs/${job_id}`, { key: callerKey })).body).toMatchObject({
    status: 'cancelled',
    retry_count: 0,
    error_category: null,
  });
  await other.close();
  await upstream.close();
});

it.each(['force=maybe', 'force=', 'force=true&force=true', 'force=2'])('a cancel refuses %s', async (query) => {
  const { job_id } = await fixture.upload();
  expect((await fixture.call('POST', `/v1/jobs/${job_id}/cancel?${query}`)).status).toBe(400);
  expect((await fixture.call('GET', `/v1/jobs/${job_id}`)).body.status).toBe('queued');
});

it('a job is reprocessed once for one Idempotency-Key', async () => {
  const id = await fixture.jobIn('failed');
  const headers = { 'Idempotency-Key': 'again' };
  const [first, second] = [
    await fixture.call('POST', `/v1/jobs/${id}/reprocess`, { headers }),
    await fixture.call('POST', `/v1/jobs/${id}/reprocess`, { headers }),
  ];
  expect([second.status, second.body, second.headers.get('idempotency-replayed')]).toEqual([200, first.body, 'true']);
  const other = await fixture.call('POST', `/v1/jobs/${await fixture.jobIn('failed')}/reprocess`, { headers });
  expect(other.status).toBe(422);
  expect((await fixture.call('POST', `/v1/jobs/${id}/reprocess`)).body.id).not.toBe(first.body.id);
});

it('changes of jobs need the scope jobs:write, and any key may read', async () => {
  const id = await fixture.jobIn('failed');
  const without = await fixture.test.key({ scopes: ['documents:write'], authLevel: 5 });
  for (const [method, path] of [
    ['POST', `/v1/jobs/${id}/cancel`],
    ['POST', `/v1/jobs/${id}/reprocess`],
    ['DELETE', `/v1/jobs/${id}`],
  ] as const) {
    const { status, body } = await fixture.call(method, path, { key: without });
    expect([status, body]).toEqual([403, { detail: expect.stringContaining('jobs:write') }]);
  }
  for (const suffix of ['', '/files', '/download']) {
    expect((await fixture.call('GET', `/v1/jobs/${id}${suffix}`, { key: without })).status).toBe(200);
  }
});

const requestsFor = (id: string) =>
  [
    ['GET', `/v1/jobs/${id}`],
    ['GET', `/v1/jobs/${id}/files`],
    ['GET', `/v1/jobs/${id}/download`],
    ['POST', `/v1/jobs/${id}/cancel`],
    ['POST', `/v1/jobs/${id}/cancel?force=true`],
    ['POST', `/v1/jobs/${id}/reprocess`],
    ['DELETE', `/v1/jobs/${id}`],
  ] as const;

it('every route of jobs answers the same 404 for ids that do not exist and ids of others', async () => {
  const others = await fixture.test.key({
    scopes: SCOPES.filter((scope) => scope !== 'platform_admin') as Scope[],
    org: 'other',
  });
  const high = await fixture.jobIn('ready', { privacy_level: 5 });
  const low = await fixture.test.key({ scopes: ['jobs:write'], authLevel: 4 });
  const mine = [await fixture.jobIn('queued'), await fixture.jobIn('ready'), await fixture.jobIn('indexing')];
  for (const [callerKey, ids] of [
    [others, [...mine, high]],
    [low, [high]],
    [fixture.key, ['job_missing', 'null', '..%2f..', "'%20OR%201=1", '%E2%82%AC', '0', 'x'.repeat(3_000)]],
  ] as const) {
    for (const id of ids) {
      for (const [method, path] of requestsFor(id)) {
        const { status, body }: Answer = await fixture.call(method, path, { key: callerKey });
        expect([method, path, status, Object.keys(body)]).toEqual([method, path, 404, ['detail']]);
      }
    }
  }
  for (const [method, path] of requestsFor('%00')) expect((await fixture.call(method, path)).status).toBe(400);
  const states = await Promise.all(mine.map(async (id) => (await fixture.call('GET', `/v1/jobs/${id}`)).body.status));
  expect(states).toEqual(['queued', 'ready', 'indexing']);
});
