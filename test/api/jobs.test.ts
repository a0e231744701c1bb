import { expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../src/access/caller.ts';
import { type Answer, openTestApi } from '../support/api.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';
import { DOCUMENTS, jobsUnderTest } from './jobs-under-test.ts';

const under = jobsUnderTest();

it('GET /v1/jobs filters by state and by bucket, id or name, newest first, at most limit', async () => {
  const { body: bucket } = await under.call('POST', '/v1/buckets', {
    key: await under.test.key({ scopes: ['buckets:manage'] }),
    json: { name: 'listed' },
  });
  const jobs: string[] = [];
  for (let i = 0; i < 3; i++) {
    const json = { filename: 'a.txt', text: `Listed ${i}` };
    jobs.unshift((await under.call('POST', '/v1/buckets/listed/documents', { json })).body.job_id);
  }
  await under.call('POST', `/v1/jobs/${jobs[1]}/cancel`);
  const ids = async (query: string) => {
    const { status, body } = await under.call('GET', `/v1/jobs?${query}`);
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
  const orgId = under.test.operator.orgId;
  await under.test.appliance.sql`
      INSERT INTO jobs (id, kind, org_id, bucket_id, fair_rank, status, s3_key, file_name, file_size, file_type)
      VALUES ('job_bulk', 'bulk', ${orgId}, 'embed_bulk', 0, 'ready', 'bulk/input', 'embed_bulk', 0, 'embed_bulk')`;
  const { body } = await under.call('GET', '/v1/jobs?bucket_id=embed_bulk');
  expect(body).toMatchObject([{ id: 'job_bulk', bucket_id: 'embed_bulk', document_id: null, file_type: 'embed_bulk' }]);
  expect((await under.call('GET', '/v1/jobs/job_bulk/files')).body).toEqual({
    object: 'list',
    data: [],
    has_more: false,
  });
  expect((await under.call('GET', '/v1/jobs/job_bulk/download')).status).toBe(404);
});

it.each(['limit=0', 'limit=201', 'limit=', 'limit=x', 'limit=1.5', 'limit=1&limit=2', 'status=done', 'status='])(
  'GET /v1/jobs refuses %s',
  async (query) => {
    const { status, body } = await under.call('GET', `/v1/jobs?${query}`);
    expect([status, Object.keys(body)]).toEqual([400, ['detail']]);
  },
);

it('a queued job is cancelled, reprocessed and deleted, and its document stays', async () => {
  const { id, job_id } = await under.upload({ text: 'A curlew calls.' });
  const refused = await under.call('POST', `/v1/jobs/${job_id}/reprocess`);
  expect([refused.status, refused.body]).toEqual([400, { detail: expect.stringContaining('queued') }]);
  const cancelled = await under.call('POST', `/v1/jobs/${job_id}/cancel`);
  expect([cancelled.status, cancelled.body]).toEqual([200, { status: 'cancelled' }]);
  expect((await under.call('GET', `${DOCUMENTS}/${id}`)).body.status).toBe('failed');
  const again = await under.call('POST', `/v1/jobs/${job_id}/cancel`);
  expect([again.status, again.body]).toEqual([200, { status: 'cancelled', detail: 'the job is already cancelled' }]);
  const reprocessed = await under.call('POST', `/v1/jobs/${job_id}/reprocess`);
  expect([reprocessed.status, reprocessed.body]).toEqual([
    200,
    expect.objectContaining({ status: 'queued', reprocess_of_job_id: job_id, document_id: id, priority: 2 }),
  ]);
  await under.withWorker(async () => {
    expect(await under.ended(reprocessed.body.id)).toMatchObject({ status: 'ready' });
  });
  const deleted = await under.call('DELETE', `/v1/jobs/${reprocessed.body.id}`);
  expect([deleted.status, deleted.body]).toEqual([204, '']);
  expect((await under.call('GET', `/v1/jobs/${reprocessed.body.id}`)).status).toBe(404);
  expect((await under.call('GET', `${DOCUMENTS}/${id}`)).body.status).toBe('ready');
  const json = { query: 'A curlew' };
  const search = await under.call('POST', '/v2/buckets/default/search', {
    key: await under.test.key({ scopes: ['search'] }),
    json,
  });
  expect(search.body.results.map((result: { document_id: string }) => result.document_id)).toContain(id);
});

it.each(['extracting', 'chunking', 'embedding', 'indexing'])(
  'a job that is %s is cancelled by force, and neither reprocessed nor deleted',
  async (status) => {
    const id = await under.jobIn(status);
    const path = `/v1/jobs/${id}`;
    for (const refused of [
      await under.call('POST', `${path}/cancel`),
      await under.call('POST', `${path}/cancel?force=false`),
      await under.call('POST', `${path}/reprocess`),
      await under.call('DELETE', path),
    ]) {
      expect([refused.status, refused.body]).toEqual([400, { detail: expect.stringContaining(status) }]);
    }
    expect((await under.call('GET', path)).body.status).toBe(status);
    const cancelled = await under.call('POST', `${path}/cancel?force=true`);
    expect([cancelled.status, cancelled.body]).toEqual([200, { status: 'cancelled' }]);
  },
);

it('a cancel aborts the upstream call of the job at once', async () => {
  const upstream = await FakeUpstream.start({ dimensions: 1536 });
  upstream.decide = () => ({ kind: 'stall' });
  const provider = { protocol: 'openai', base_url: upstream.baseUrl('openai'), timeout_seconds: 600, retries_max: 0 };
  const workers = { lease_seconds: 3600 }; // no heartbeat for a quarter of that
  const other = await openTestApi({ settings: { providers: { 'vendor-a': provider }, workers } });
  const asking = await other.key({ scopes: [...SCOPES], authLevel: 10 });
  const json = { primary: 'vendor-a/text-embedding-3-small' };
  expect((await other.call('PUT', '/v1/routing', { key: asking, json })).status).toBe(200);
  const document = { filename: 'slow.txt', text: 'Very slow.' };
  const { job_id } = (await other.call('POST', DOCUMENTS, { key: asking, json: document })).body;
  const seen = await until(async () => upstream.calls[0]);
  const { body } = await other.call('POST', `/v1/jobs/${job_id}/cancel?force=true`, { key: asking });
  expect(body).toEqual({ status: 'cancelled' });
  await until(async () => seen.aborted);
  expect((await other.call('GET', `/v1/jobs/${job_id}`, { key: asking })).body).toMatchObject({
    status: 'cancelled',
    retry_count: 0,
    error_category: null,
  });
  await other.close();
  await upstream.close();
});

it.each(['force=maybe', 'force=', 'force=true&force=true', 'force=2'])('a cancel refuses %s', async (query) => {
  const { job_id } = await under.upload();
  expect((await under.call('POST', `/v1/jobs/${job_id}/cancel?${query}`)).status).toBe(400);
  expect((await under.call('GET', `/v1/jobs/${job_id}`)).body.status).toBe('queued');
});

it('a job is reprocessed once for one Idempotency-Key', async () => {
  const id = await under.jobIn('failed');
  const headers = { 'Idempotency-Key': 'again' };
  const [first, second] = [
    await under.call('POST', `/v1/jobs/${id}/reprocess`, { headers }),
    await under.call('POST', `/v1/jobs/${id}/reprocess`, { headers }),
  ];
  expect([second.status, second.body, second.headers.get('idempotency-replayed')]).toEqual([200, first.body, 'true']);
  const other = await under.call('POST', `/v1/jobs/${await under.jobIn('failed')}/reprocess`, { headers });
  expect(other.status).toBe(422);
  expect((await under.call('POST', `/v1/jobs/${id}/reprocess`)).body.id).not.toBe(first.body.id);
});

it('changes of jobs need jobs:write, and reads any key', async () => {
  const id = await under.jobIn('failed');
  const without = await under.test.key({ scopes: ['documents:write'], authLevel: 5 });
  for (const [method, path] of [
    ['POST', `/v1/jobs/${id}/cancel`],
    ['POST', `/v1/jobs/${id}/reprocess`],
    ['DELETE', `/v1/jobs/${id}`],
  ] as const) {
    const { status, body } = await under.call(method, path, { key: without });
    expect([status, body]).toEqual([403, { detail: expect.stringContaining('jobs:write') }]);
  }
  for (const what of ['', '/files', '/download']) {
    expect((await under.call('GET', `/v1/jobs/${id}${what}`, { key: without })).status).toBe(200);
  }
});

const everyForm = (id: string) =>
  [
    ['GET', `/v1/jobs/${id}`],
    ['GET', `/v1/jobs/${id}/files`],
    ['GET', `/v1/jobs/${id}/download`],
    ['POST', `/v1/jobs/${id}/cancel`],
    ['POST', `/v1/jobs/${id}/cancel?force=true`],
    ['POST', `/v1/jobs/${id}/reprocess`],
    ['DELETE', `/v1/jobs/${id}`],
  ] as const;

it('every route of jobs answers 404 alike for ids that are not there or of others', async () => {
  const others = await under.test.key({
    scopes: SCOPES.filter((scope) => scope !== 'platform_admin') as Scope[],
    org: 'other',
  });
  const high = await under.jobIn('ready', { privacy_level: 5 });
  const low = await under.test.key({ scopes: ['jobs:write'], authLevel: 4 });
  const mine = [await under.jobIn('queued'), await under.jobIn('ready'), await under.jobIn('indexing')];
  for (const [asking, ids] of [
    [others, [...mine, high]],
    [low, [high]],
    [under.key, ['job_missing', 'null', '..%2f..', "'%20OR%201=1", '%E2%82%AC', '0', 'x'.repeat(128)]],
  ] as const) {
    for (const id of ids) {
      for (const [method, path] of everyForm(id)) {
        const { status, body }: Answer = await under.call(method, path, { key: asking });
        expect([method, path, status, Object.keys(body)]).toEqual([method, path, 404, ['detail']]);
      }
    }
  }
  for (const [method, path] of everyForm('x'.repeat(129))) expect((await under.call(method, path)).status).toBe(400);
  for (const [method, path] of everyForm('%00')) expect((await under.call(method, path)).status).toBe(400);
  const states = await Promise.all(mine.map(async (id) => (await under.call('GET', `/v1/jobs/${id}`)).body.status));
  expect(states).toEqual(['queued', 'ready', 'indexing']);
});
