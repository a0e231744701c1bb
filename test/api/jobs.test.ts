import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../src/access/caller.ts';
import { issueToken } from '../../src/access/tokens.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

const CRON_SECRET = 'canary-cron-9f2c';
let test: TestApi;
let key: string;

beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: { cron_secret: CRON_SECRET } });
  key = await test.key({ scopes: ['documents:write', 'jobs:write'], authLevel: 5 });
});
afterAll(() => test.close());

const DOCUMENTS = '/v1/buckets/default/documents';
const call = (method: string, path: string, options: Parameters<TestApi['call']>[2] = {}) =>
  test.call(method, path, { key, ...options });

let uploads = 0;
async function upload(fields: Record<string, unknown> = {}): Promise<{ id: string; job_id: string }> {
  const json = { filename: 'note.txt', text: `Note ${++uploads}.`, ...fields };
  const { status, body } = await call('POST', DOCUMENTS, { json });
  expect(status).toBe(202);
  return body;
}

/** A job of a document of its own, put into this state. */
async function jobIn(status: string, fields: Record<string, unknown> = {}): Promise<string> {
  const { job_id } = await upload(fields);
  await test.appliance.sql`UPDATE jobs SET status = ${status}, checkpoint_at = now() WHERE id = ${job_id}`;
  return job_id;
}

async function withWorker(use: () => Promise<void>): Promise<void> {
  const worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  try {
    await use();
  } finally {
    await worker.stop();
  }
}

const ended = (id: string) =>
  until(async () => {
    const { body } = await call('GET', `/v1/jobs/${id}`);
    return ['ready', 'failed', 'cancelled'].includes(body.status) && body;
  });

describe('GET /v1/jobs', () => {
  it('filters by state and by bucket, id or name, newest first, at most limit', async () => {
    const { body: bucket } = await call('POST', '/v1/buckets', {
      key: await test.key({ scopes: ['buckets:manage'] }),
      json: { name: 'listed' },
    });
    const jobs: string[] = [];
    for (let i = 0; i < 3; i++) {
      const json = { filename: 'a.txt', text: `Listed ${i}` };
      jobs.unshift((await call('POST', '/v1/buckets/listed/documents', { json })).body.job_id);
    }
    await call('POST', `/v1/jobs/${jobs[1]}/cancel`);
    const ids = async (query: string) => {
      const { status, body } = await call('GET', `/v1/jobs?${query}`);
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

  it('lists jobs of both kinds', async () => {
    const orgId = test.operator.orgId;
    await test.appliance.sql`
      INSERT INTO jobs (id, kind, org_id, bucket_id, fair_rank, status, s3_key, file_name, file_size, file_type)
      VALUES ('job_bulk', 'bulk', ${orgId}, 'embed_bulk', 0, 'ready', 'bulk/input', 'embed_bulk', 0, 'embed_bulk')`;
    const { body } = await call('GET', '/v1/jobs?bucket_id=embed_bulk');
    expect(body).toMatchObject([
      { id: 'job_bulk', bucket_id: 'embed_bulk', document_id: null, file_type: 'embed_bulk' },
    ]);
    expect((await call('GET', '/v1/jobs/job_bulk/files')).body).toEqual({ object: 'list', data: [], has_more: false });
    expect((await call('GET', '/v1/jobs/job_bulk/download')).status).toBe(404);
  });

  it.each(['limit=0', 'limit=201', 'limit=', 'limit=x', 'limit=1.5', 'limit=1&limit=2', 'status=done', 'status='])(
    'refuses %s',
    async (query) => {
      const { status, body } = await call('GET', `/v1/jobs?${query}`);
      expect([status, Object.keys(body)]).toEqual([400, ['detail']]);
    },
  );
});

describe('files and download', () => {
  it.each([
    ['report.txt', 'attachment; filename="report.txt"'],
    [
      'Fähre 시간표.txt',
      `attachment; filename="F_hre ___.txt"; filename*=UTF-8''F%C3%A4hre%20%EC%8B%9C%EA%B0%84%ED%91%9C.txt`,
    ],
    [
      `a "b" 'c' (d)*;x=y.txt`,
      `attachment; filename="a _b_ 'c' (d)*;x=y.txt"; filename*=UTF-8''a%20%22b%22%20%27c%27%20%28d%29%2A%3Bx%3Dy.txt`,
    ],
    ['100%41.txt', `attachment; filename="100%41.txt"; filename*=UTF-8''100%2541.txt`],
    ['😀.txt', `attachment; filename="_.txt"; filename*=UTF-8''%F0%9F%98%80.txt`],
  ])('%s comes back as it was uploaded, under its name', async (filename, disposition) => {
    const text = `The file ${filename}.\n`;
    const { id, job_id } = await upload({ filename, text });
    const before = await fetch(`${test.api.url}/v1/jobs/${job_id}/download`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(before.headers.get('content-type')).toBe('application/octet-stream');
    await before.arrayBuffer();
    await withWorker(async () => void (await ended(job_id)));
    const reply = await fetch(`${test.api.url}/v1/jobs/${job_id}/download`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-disposition')).toBe(disposition);
    expect(reply.headers.get('content-type')).toBe('text/plain');
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
    expect(Number(reply.headers.get('content-length'))).toBe(Buffer.byteLength(text));
    expect(Buffer.from(await reply.arrayBuffer()).toString()).toBe(text);
    const { body: document } = await call('GET', `${DOCUMENTS}/${id}`);
    expect((await call('GET', `/v1/jobs/${job_id}/files`)).body).toEqual({
      object: 'list',
      data: [
        {
          id,
          object: 'vector_store.file',
          vector_store_id: document.bucket_id,
          status: 'ready',
          filename,
          created_at: document.created_at,
        },
      ],
      has_more: false,
    });
  });

  it('a large file comes whole, byte for byte', async () => {
    const bytes = Buffer.alloc(3_000_000, 'All work and no play. ');
    const content_base64 = bytes.toString('base64');
    const { job_id } = await upload({ filename: 'large.txt', text: undefined, content_base64 });
    const reply = await fetch(`${test.api.url}/v1/jobs/${job_id}/download`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const hash = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
    expect(hash(new Uint8Array(await reply.arrayBuffer()))).toBe(hash(bytes));
    await call('DELETE', `/v1/jobs/${job_id}`);
  });

  it('a file above the auth level, deleted, or missing in the storage is 404', async () => {
    const { job_id } = await upload({ privacy_level: 5 });
    const low = await test.key({ authLevel: 4 });
    for (const what of ['', '/files', '/download']) {
      expect((await call('GET', `/v1/jobs/${job_id}${what}`, { key: low })).status).toBe(404);
    }
    expect((await call('GET', `/v1/jobs/${job_id}/download`)).status).toBe(200);

    const lost = await upload();
    await test.appliance.objects.delete((await call('GET', `/v1/jobs/${lost.job_id}`)).body.s3_key);
    const missing = await call('GET', `/v1/jobs/${lost.job_id}/download`);
    expect([missing.status, missing.body]).toEqual([404, { detail: expect.stringContaining('missing') }]);

    const gone = await upload();
    await call('DELETE', `${DOCUMENTS}/${gone.id}`);
    expect((await call('GET', `/v1/jobs/${gone.job_id}/download`)).status).toBe(404);
    expect((await call('GET', `/v1/jobs/${gone.job_id}/files`)).body.data).toEqual([]);
  });
});

describe('cancel, reprocess, delete', () => {
  it('a queued job', async () => {
    const { id, job_id } = await upload();
    const refused = await call('POST', `/v1/jobs/${job_id}/reprocess`);
    expect([refused.status, refused.body]).toEqual([400, { detail: expect.stringContaining('queued') }]);
    const cancelled = await call('POST', `/v1/jobs/${job_id}/cancel`);
    expect([cancelled.status, cancelled.body]).toEqual([200, { status: 'cancelled' }]);
    expect((await call('GET', `${DOCUMENTS}/${id}`)).body.status).toBe('failed');
    const again = await call('POST', `/v1/jobs/${job_id}/cancel`);
    expect([again.status, again.body]).toEqual([200, { status: 'cancelled', detail: 'the job is already cancelled' }]);
    const reprocessed = await call('POST', `/v1/jobs/${job_id}/reprocess`);
    expect([reprocessed.status, reprocessed.body]).toEqual([
      200,
      expect.objectContaining({ status: 'queued', reprocess_of_job_id: job_id, document_id: id, priority: 2 }),
    ]);
    await withWorker(async () => {
      expect(await ended(reprocessed.body.id)).toMatchObject({ status: 'ready' });
    });
    const deleted = await call('DELETE', `/v1/jobs/${reprocessed.body.id}`);
    expect([deleted.status, deleted.body]).toEqual([204, '']);
    expect((await call('GET', `/v1/jobs/${reprocessed.body.id}`)).status).toBe(404);
    expect((await call('GET', `${DOCUMENTS}/${id}`)).body.status).toBe('ready');
    const json = { query: `Note ${uploads}` };
    const search = await call('POST', '/v2/buckets/default/search', {
      key: await test.key({ scopes: ['search'] }),
      json,
    });
    expect(search.body.results.map((result: { document_id: string }) => result.document_id)).toContain(id);
  });

  it.each(['extracting', 'chunking', 'embedding', 'indexing'])('a job that is %s', async (status) => {
    const id = await jobIn(status);
    const path = `/v1/jobs/${id}`;
    for (const refused of [
      await call('POST', `${path}/cancel`),
      await call('POST', `${path}/cancel?force=false`),
      await call('POST', `${path}/reprocess`),
      await call('DELETE', path),
    ]) {
      expect([refused.status, refused.body]).toEqual([400, { detail: expect.stringContaining(status) }]);
    }
    expect((await call('GET', path)).body.status).toBe(status);
    const cancelled = await call('POST', `${path}/cancel?force=true`);
    expect([cancelled.status, cancelled.body]).toEqual([200, { status: 'cancelled' }]);
  });

  it('aborts the upstream call of a cancelled job at once', async () => {
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

  it.each(['force=maybe', 'force=', 'force=true&force=true', 'force=2'])('refuses %s', async (query) => {
    const { job_id } = await upload();
    expect((await call('POST', `/v1/jobs/${job_id}/cancel?${query}`)).status).toBe(400);
    expect((await call('GET', `/v1/jobs/${job_id}`)).body.status).toBe('queued');
  });

  it('reprocesses once for one Idempotency-Key', async () => {
    const id = await jobIn('failed');
    const headers = { 'Idempotency-Key': 'again' };
    const [first, second] = [
      await call('POST', `/v1/jobs/${id}/reprocess`, { headers }),
      await call('POST', `/v1/jobs/${id}/reprocess`, { headers }),
    ];
    expect([second.status, second.body, second.headers.get('idempotency-replayed')]).toEqual([200, first.body, 'true']);
    const other = await call('POST', `/v1/jobs/${await jobIn('failed')}/reprocess`, { headers });
    expect(other.status).toBe(422);
    expect((await call('POST', `/v1/jobs/${id}/reprocess`)).body.id).not.toBe(first.body.id);
  });

  it('needs jobs:write, and reads need any key', async () => {
    const id = await jobIn('failed');
    const without = await test.key({ scopes: ['documents:write'], authLevel: 5 });
    for (const [method, path] of [
      ['POST', `/v1/jobs/${id}/cancel`],
      ['POST', `/v1/jobs/${id}/reprocess`],
      ['DELETE', `/v1/jobs/${id}`],
    ] as const) {
      const { status, body } = await call(method, path, { key: without });
      expect([status, body]).toEqual([403, { detail: expect.stringContaining('jobs:write') }]);
    }
    for (const what of ['', '/files', '/download']) {
      expect((await call('GET', `/v1/jobs/${id}${what}`, { key: without })).status).toBe(200);
    }
  });
});

describe('ids that are not there, or not mine', () => {
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

  it('every form answers 404 alike', async () => {
    const others = await test.key({
      scopes: SCOPES.filter((scope) => scope !== 'platform_admin') as Scope[],
      org: 'other',
    });
    const high = await jobIn('ready', { privacy_level: 5 });
    const low = await test.key({ scopes: ['jobs:write'], authLevel: 4 });
    const mine = [await jobIn('queued'), await jobIn('ready'), await jobIn('indexing')];
    for (const [asking, ids] of [
      [others, [...mine, high]],
      [low, [high]],
      [key, ['job_missing', 'null', '..%2f..', "'%20OR%201=1", '%E2%82%AC', '0', 'x'.repeat(128)]],
    ] as const) {
      for (const id of ids) {
        for (const [method, path] of everyForm(id)) {
          const { status, body }: Answer = await call(method, path, { key: asking });
          expect([method, path, status, Object.keys(body)]).toEqual([method, path, 404, ['detail']]);
        }
      }
    }
    for (const [method, path] of everyForm('x'.repeat(129))) expect((await call(method, path)).status).toBe(400);
    for (const [method, path] of everyForm('%00')) expect((await call(method, path)).status).toBe(400);
    const states = await Promise.all(mine.map(async (id) => (await call('GET', `/v1/jobs/${id}`)).body.status));
    expect(states).toEqual(['queued', 'ready', 'indexing']);
  });
});

describe('POST /v1/admin/reap-stale-jobs', () => {
  const reap = (query = '', headers: Record<string, string> = {}, asking?: string) =>
    test.call('POST', `/v1/admin/reap-stale-jobs${query}`, { headers, ...(asking ? { key: asking } : {}) });
  const cron = { 'X-Cron-Secret': CRON_SECRET };

  it('fails what was silent, puts its document in order, and says which', async () => {
    const job = await jobIn('embedding');
    const fresh = await jobIn('embedding');
    await test.appliance.sql`UPDATE jobs SET checkpoint_at = now() - interval '61 minutes' WHERE id = ${job}`;
    const { status, body } = await reap('?timeout_minutes=60', cron);
    expect(status).toBe(200);
    expect(body).toEqual({
      timeout_minutes: 60,
      reaped_count: 1,
      jobs: [{ job_id: job, org_id: test.operator.orgId, stuck_status: 'embedding' }],
    });
    const failed = (await call('GET', `/v1/jobs/${job}`)).body;
    expect(failed).toMatchObject({
      status: 'failed',
      error_category: 'stale',
      failed_phase: 'embedding',
      retryable: true,
    });
    expect((await call('GET', `${DOCUMENTS}/${failed.document_id}`)).body.status).toBe('failed');
    expect((await call('GET', `/v1/jobs/${fresh}`)).body.status).toBe('embedding');
    expect((await reap('', cron)).body).toEqual({ timeout_minutes: 30, reaped_count: 0, jobs: [] });
  });

  it('takes a platform_admin key or token', async () => {
    const { sql, keyRing } = test.appliance;
    expect((await reap('', {}, await test.key({ scopes: ['platform_admin'] }))).status).toBe(200);
    const make = (role: 'platform_admin' | 'owner') =>
      issueToken(sql, keyRing, test.operator, { email: `${role}@example.test`, role, ttlMs: 60_000 });
    expect((await reap('', {}, (await make('platform_admin')).token.reveal())).status).toBe(200);
    expect((await reap('', {}, (await make('owner')).token.reveal())).status).toBe(401);
  });

  it('refuses everybody else', async () => {
    const admin = await test.key({ scopes: ['platform_admin'] });
    const ordinary = await test.key({ scopes: SCOPES.filter((scope) => scope !== 'platform_admin') as Scope[] });
    for (const [what, answer, status] of [
      ['nobody', await reap(), 401],
      ['an ordinary key', await reap('', {}, ordinary), 401],
      ['a bad key', await reap('', {}, 'svc_wrong'), 401],
      ['a wrong secret', await reap('', { 'X-Cron-Secret': 'wrong' }), 403],
      ['an empty secret', await reap('', { 'X-Cron-Secret': '' }), 403],
      ['a longer secret', await reap('', { 'X-Cron-Secret': `${CRON_SECRET}x` }), 403],
      ['the secret twice', await reap('', { 'X-Cron-Secret': `${CRON_SECRET}, ${CRON_SECRET}` }), 403],
      ['a wrong secret beside a good key', await reap('', { 'X-Cron-Secret': 'wrong' }, admin), 403],
      ['the secret as a key', await reap('', {}, CRON_SECRET), 401],
      ['GET', await test.call('GET', '/v1/admin/reap-stale-jobs', { headers: cron }), 405],
    ] as const) {
      expect([what, answer.status, Object.keys(answer.body)]).toEqual([what, status, ['detail']]);
      if (status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(JSON.stringify(answer.body)).not.toContain('canary');
    }
  });

  it.each(['0', '1441', '-1', '1.5', 'x', '', 'NaN', '1e9', '30&timeout_minutes=40'])(
    'refuses timeout_minutes=%s',
    async (value) => {
      const { status, body } = await reap(`?timeout_minutes=${value}`, cron);
      expect([status, body]).toEqual([400, { detail: expect.stringContaining('timeout_minutes') }]);
    },
  );

  it.each([1, 1440])('takes timeout_minutes=%i', async (value) => {
    expect((await reap(`?timeout_minutes=${value}`, cron)).body.timeout_minutes).toBe(value);
  });
});

it('without a cron secret in the settings no secret is right', async () => {
  const other = await openTestApi({ worker: false });
  for (const secret of ['', 'null', 'undefined', CRON_SECRET]) {
    const { status } = await other.call('POST', '/v1/admin/reap-stale-jobs', { headers: { 'X-Cron-Secret': secret } });
    expect(status).toBe(403);
  }
  await other.close();
});
