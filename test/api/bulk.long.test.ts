import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { KOREAN, MULTILINGUAL, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

let test: TestGateway;
let worker: Service;
let key: string;

beforeAll(async () => {
  test = await openTestGateway({
    plans: { starter: { quotas: { embed_batch: 500 } }, pro: { quotas: { embed_batch: 0 } } },
  });
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
  key = await test.key({ scopes: ['embed'] });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});
afterEach(() => {
  test.upstream.decide = () => null;
  test.korean.decide = () => null;
  expect([...test.upstream.violations, ...test.korean.violations]).toEqual([]);
});

let serial = 0;
const fresh = (count: number, text = 'harbour report') => {
  serial++;
  return Array.from({ length: count }, (_, i) => `${text} ${serial} ${i}`);
};
const submit = (json: unknown, as = key, headers: Record<string, string> = {}) =>
  test.call('POST', '/v1/embed/jobs', { key: as, json, headers });
const status = (id: string, as = key) => test.call('GET', `/v1/embed/jobs/${id}`, { key: as });
const cancel = (id: string, as = key) => test.call('POST', `/v1/embed/jobs/${id}/cancel`, { key: as });
const result = (id: string, query = '', as = key) =>
  test.call('GET', `/v1/embed/jobs/${id}/result${query}`, { key: as });
const awaitEnd = (id: string) =>
  until(
    async () => {
      const { body } = await status(id);
      return ['ready', 'failed', 'cancelled'].includes(body.status) && body;
    },
    { what: 'the end of the job' },
  );

/** Create an organization on a plan. @returns a key of it */
async function organization(name: string, plan: 'starter' | 'pro' | 'free' | 'enterprise'): Promise<string> {
  await test.appliance.access.createOrganization({ name, plan });
  return test.key({ org: name, scopes: ['embed'] });
}

/** Stop the worker for as long as `use` runs, so that jobs stay queued. */
async function withoutWorker(use: () => Promise<void>): Promise<void> {
  await worker.stop();
  try {
    await use();
  } finally {
    worker = test.appliance.jobs.worker('embed');
    await worker.start(new AbortController().signal);
  }
}

describe('POST /v1/embed/jobs', () => {
  it('a job embeds all texts in the order of the input, and its result is read page by page', async () => {
    const texts = fresh(250);
    const submitted = await submit({ texts, model: SMALL, dimensions: 64, task_type: 'clustering' });
    expect(submitted.status).toBe(200);
    expect(submitted.body).toEqual({
      id: expect.stringMatching(/^job_/),
      status: 'queued',
      model: SMALL,
      usage: { tokens: expect.any(Number), count: 250 },
      chunk_size: 100,
    });
    expect(submitted.body.usage.tokens).toBeGreaterThan(500);
    const { id } = submitted.body;
    const view = await awaitEnd(id);
    expect(view).toEqual({
      id,
      status: 'ready',
      org_id: test.operator.orgId,
      metadata: {
        mode: 'embed_bulk',
        model: SMALL,
        dimensions: 64,
        task_type: 'clustering',
        input_count: 250,
        chunk_size: 100,
        token_count: submitted.body.usage.tokens,
        completed_count: 250,
      },
    });

    const first = await result(id);
    expect(first.status).toBe(200);
    expect({ ...first.body, data: first.body.data.length }).toEqual({
      object: 'list',
      data: 100,
      model: SMALL,
      dimensions: 64,
      usage: { count: 250 },
      pagination: { offset: 0, limit: 100, returned: 100, total: 250, has_more: true },
    });
    const page = await result(id, '?offset=95&limit=130');
    expect(page.body.pagination).toEqual({ offset: 95, limit: 130, returned: 130, total: 250, has_more: true });
    const direct = await test.call('POST', '/v1/embeddings', {
      key,
      json: { input: texts.slice(95, 195), model: SMALL, dimensions: 64, task_type: 'clustering' },
    });
    for (const [i, item] of page.body.data.entries()) {
      expect(item.index).toBe(95 + i);
      expect(item.object).toBe('embedding');
      if (i < 100) expect(item.embedding).toEqual(direct.body.data[i].embedding);
    }
    const last = await result(id, '?offset=240&limit=1000');
    expect(last.body.data.map((item: { index: number }) => item.index)).toEqual([
      240, 241, 242, 243, 244, 245, 246, 247, 248, 249,
    ]);
    expect(last.body.pagination).toMatchObject({ returned: 10, has_more: false });
    const beyond = await result(id, '?offset=250');
    expect(beyond.body).toMatchObject({
      data: [],
      pagination: { offset: 250, returned: 0, total: 250, has_more: false },
    });
  });

  it('a job takes one text, and 10,000 texts of 2 kB', async () => {
    const one = await submit({ texts: ['alone'] });
    expect((await awaitEnd(one.body.id)).status).toBe('ready');
    expect((await result(one.body.id)).body.data).toHaveLength(1);
    const texts = fresh(10_000, 'long '.repeat(400));
    await withoutWorker(async () => {
      const submitted = await submit({ texts, model: SMALL });
      expect(submitted.status).toBe(200);
      expect(submitted.body.usage.count).toBe(10_000);
      expect((await status(submitted.body.id)).body.metadata).toMatchObject({
        completed_count: 0,
        input_count: 10_000,
      });
      expect((await cancel(submitted.body.id)).body).toEqual({ status: 'cancelled' });
    });
  });

  it('a bulk job is listed among the jobs of the organization', async () => {
    const { body } = await submit({ texts: fresh(3), model: SMALL });
    await awaitEnd(body.id);
    const admin = await test.call('GET', `/v1/jobs/${body.id}`, { key });
    expect(admin.body).toMatchObject({
      bucket_id: 'embed_bulk',
      document_id: null,
      file_type: 'embed_bulk',
      priority: 0,
      status: 'ready',
      chunks_count: 1,
    });
    const found = await test.call('GET', '/v1/jobs?bucket_id=embed_bulk', { key });
    expect(found.body.map((job: { id: string }) => job.id)).toContain(body.id);
  });

  it.each([
    ['enterprise', 0],
    ['free', 3],
  ] as const)('a job takes its priority from the plan %s', async (plan, priority) => {
    const own = await organization(`priority-${plan}`, plan);
    const { body } = await submit({ texts: ['a'], model: SMALL }, own);
    const job = await test.call('GET', `/v1/jobs/${body.id}`, { key: own });
    expect(job.body.priority).toBe(priority);
  });

  it.each([
    ['no texts', {}, 'texts', 'is required'],
    ['an empty list', { texts: [] }, 'texts', 'at least one'],
    ['more than 10,000', { texts: new Array(10_001).fill('a') }, 'texts', '10,000'],
    ['an empty text', { texts: ['a', ''] }, 'texts[1]', 'empty'],
    ['a number', { texts: ['a', 'b', 7] }, 'texts[2]', 'strings'],
    ['a string', { texts: 'a' }, 'texts', 'list'],
    ['null as texts', { texts: null }, 'texts', 'list'],
    [
      'a text over the limit of the model',
      { texts: ['a', 'b', 'word '.repeat(9_000)], model: SMALL },
      'texts[2]',
      '8191',
    ],
    [
      'a long text in a large body',
      { texts: [...new Array(900).fill('x '.repeat(200)), 'word '.repeat(9_000)], model: SMALL },
      'texts[900]',
      '8191',
    ],
    ['an unknown model', { texts: ['a'], model: 'vendor-z/none' }, 'model', 'unknown'],
    ['bad dimensions', { texts: ['a'], dimensions: 0 }, 'dimensions', ''],
    ['a bad task type', { texts: ['a'], task_type: 'guess' }, 'task_type', ''],
  ])('a job with %s is refused', async (_, json, param, words) => {
    const { status: code, body } = await submit(json);
    expect(code).toBe(400);
    expect(body.error).toMatchObject({ param, type: 'invalid_request_error' });
    expect(body.error.message).toContain(words);
  });

  it('a large body that is not valid JSON is refused like a small one', async () => {
    const body = `{"texts": ["${'x'.repeat(300_000)}"`;
    const headers = { 'Content-Type': 'application/json' };
    const reply = await test.call('POST', '/v1/embed/jobs', { key, body, headers });
    expect(reply.status).toBe(400);
    expect(reply.body.error.code).toBe('invalid_json');
  });

  it('a job needs the scope embed and a configured provider', async () => {
    expect((await submit({ texts: ['a'] }, await test.key({ scopes: ['search'] }))).status).toBe(403);
    const { status: code, body } = await submit({ texts: ['a'], model: 'vendor-b/embedding-001' });
    expect(code).toBe(502);
    expect(body.error.code).toBe('provider_unavailable');
  });

  it('a job whose dimensions are not honoured is accepted with a warning', async () => {
    const { body, headers } = await submit({ texts: fresh(2), model: KOREAN, dimensions: 64 });
    expect(headers.get('x-service-warning')).toBe('dimensions-ignored');
    const view = await awaitEnd(body.id);
    expect(view.metadata.dimensions).toBe(64);
    expect((await result(body.id)).body.dimensions).toBe(1024);
  });

  it('a repeated idempotency key with the same body gets the first job, and with another body is refused', async () => {
    const texts = fresh(2);
    const headers = { 'Idempotency-Key': 'bulk-1' };
    const first = await submit({ texts, model: SMALL }, key, headers);
    const again = await submit({ texts, model: SMALL }, key, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await submit({ texts: [...texts, 'more'], model: SMALL }, key, headers)).status).toBe(422);
    const large = fresh(2_000, 'word '.repeat(40));
    const [one, other] = [
      await submit({ texts: large, model: SMALL }, key, { 'Idempotency-Key': 'bulk-2' }),
      await submit({ texts: large, model: SMALL }, key, { 'Idempotency-Key': 'bulk-2' }),
    ];
    expect(other.body.id).toBe(one.body.id);
  });
});

describe('jobs with the alias', () => {
  it('the alias sends texts of all languages to one backend while the backends cannot be compared', async () => {
    const english = fresh(150, 'The ferry leaves the harbour at seven in the morning');
    const korean = fresh(150, '배는 아침 일곱 시에 항구를 떠납니다');
    const { body } = await submit({ texts: [...english, ...korean] });
    expect(body.model).toBe('service-embed-1-small');
    const view = await awaitEnd(body.id);
    expect(view.metadata.model).toBe('service-embed-1-small');
    expect((await result(body.id)).body.model).toBe(MULTILINGUAL);
    const ofOne = await submit({ texts: fresh(101, '배는 아침 일곱 시에 항구를 떠납니다') });
    await awaitEnd(ofOne.body.id);
    expect((await result(ofOne.body.id)).body.model).toBe(MULTILINGUAL);
  });
});

describe('cancelling a bulk job', () => {
  it('cancelling ends a queued job, and is refused the second time', async () => {
    await withoutWorker(async () => {
      const { body } = await submit({ texts: fresh(5), model: SMALL });
      expect(await cancel(body.id)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
      expect((await status(body.id)).body.status).toBe('cancelled');
      expect((await cancel(body.id)).status).toBe(400);
      const reply = await result(body.id);
      expect(reply.status).toBe(409);
      expect(reply.body.error.code).toBe('result_not_ready');
    });
  });

  it('cancelling is a 400 once the job runs or has ended', async () => {
    test.upstream.decide = () => ({ kind: 'delay', ms: 300 });
    const { body } = await submit({ texts: fresh(5), model: SMALL });
    await until(async () => (await status(body.id)).body.status === 'embedding');
    expect((await cancel(body.id)).status).toBe(400);
    expect((await result(body.id)).status).toBe(409);
    await awaitEnd(body.id);
    expect((await cancel(body.id)).status).toBe(400);
  });
});

describe('jobs of another organization', () => {
  it.each(['GET', 'POST', 'result'])('a job of another organization is a 404 (%s)', async (call) => {
    const { body } = await submit({ texts: fresh(2), model: SMALL });
    await awaitEnd(body.id);
    const other = await test.key({ org: 'bulk-other', scopes: ['embed'] });
    for (const id of [body.id, 'job_none', 'x%2Fy']) {
      const reply =
        call === 'GET'
          ? await status(id, other)
          : call === 'POST'
            ? await cancel(id, other)
            : await result(id, '', other);
      expect(reply.status).toBe(404);
      expect(reply.body.error.code).toBe('job_not_found');
    }
  });

  it.each(['?limit=0', '?limit=1001', '?offset=-1', '?limit=x', '?offset=1.5'])(
    'a bad page of a result is a 400: %s',
    async (query) => {
      expect((await result('job_none', query)).status).toBe(400);
    },
  );
});

describe('usage of a job', () => {
  const usage = async (as: string) => (await test.call('GET', '/v1/usage/summary', { key: as })).body;

  it('usage is reserved when a job is submitted, and settled once at its end', async () => {
    const own = await organization('bulk-quota', 'starter');
    await withoutWorker(async () => {
      expect((await submit({ texts: fresh(300), model: SMALL }, own)).status).toBe(200);
      expect((await usage(own)).axes.embed_batch).toMatchObject({ requests: 0, remaining: 200 });
      const over = await submit({ texts: fresh(201), model: SMALL }, own);
      expect(over.status).toBe(402);
      expect(over.body.error.code).toBe('quota_exceeded');
      const queued = await submit({ texts: fresh(200), model: SMALL }, own);
      expect((await usage(own)).axes.embed_batch.remaining).toBe(0);
      await test.call('POST', `/v1/embed/jobs/${queued.body.id}/cancel`, { key: own });
      expect((await usage(own)).axes.embed_batch.remaining).toBe(200);
    });
    await until(async () => (await usage(own)).axes.embed_batch.requests === 1);
    const after = await usage(own);
    expect(after.axes.embed_batch).toMatchObject({ requests: 1, texts: 300, limit: 500, remaining: 200 });
    expect(after.by_model).toMatchObject([{ model: SMALL, requests: 1 }]);
  });

  it('usage is counted without a limit too, and a job is refused if the plan does not include bulk embedding', async () => {
    const own = await organization('bulk-unlimited', 'enterprise');
    const { body } = await submit({ texts: fresh(120), model: SMALL }, own);
    await until(
      async () => (await test.call('GET', `/v1/embed/jobs/${body.id}`, { key: own })).body.status === 'ready',
    );
    expect((await usage(own)).axes.embed_batch).toMatchObject({ requests: 1, texts: 120, remaining: null });
    const none = await organization('bulk-none', 'pro');
    const refused = await submit({ texts: ['a'], model: SMALL }, none);
    expect(refused.status).toBe(403);
    expect(refused.body.error.code).toBe('axis_not_in_plan');
  });

  it('a failed job releases the usage of texts it did not embed, and its error names the failed texts', async () => {
    const own = await organization('bulk-failing', 'starter');
    test.upstream.decide = ({ texts }) =>
      texts.some((text) => text.includes('poison'))
        ? { kind: 'status', status: 400, body: { error: { message: 'no' } } }
        : null;
    const texts = fresh(300);
    texts[150] = 'poison';
    const { body } = await submit({ texts, model: SMALL }, own);
    const view = await until(async () => {
      const reply = await test.call('GET', `/v1/embed/jobs/${body.id}`, { key: own });
      return reply.body.status === 'failed' && reply.body;
    });
    expect(view.error).toMatchObject({ failed_phase: 'embedding', category: 'upstream_rejected', retryable: false });
    expect(view.error.message).toContain('texts 100 to 199');
    expect(view.metadata.completed_count).toBe(200);
    expect((await usage(own)).axes.embed_batch).toMatchObject({ requests: 1, texts: 200, remaining: 300 });
    expect((await test.call('GET', `/v1/embed/jobs/${body.id}/result`, { key: own })).status).toBe(409);
  });
});

it('a body that is cut off stores nothing', async () => {
  const socket = connect(new URL(test.api.url).port as unknown as number, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(
    `POST /v1/embed/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"texts":`,
  );
  socket.destroy();
  const keys: string[] = [];
  for await (const object of test.appliance.objects.list('bulk/')) keys.push(object.key);
  const ids = new Set(keys.map((object) => object.split('/')[2]));
  for (const id of ids) expect(await test.appliance.sql`SELECT 1 FROM jobs WHERE id = ${id as string}`).toHaveLength(1);
});
