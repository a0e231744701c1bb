import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageSummary } from '../../src/usage/schema.ts';
import { openTestAppliance } from '../support/appliance.ts';
import { fakeTokens } from '../support/fake-upstream.ts';
import { KOREAN, LARGE, MULTILINGUAL, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const plans = { free: { quotas: { embed: 1000 } } };
const NOTHING = { requests: 0, texts: 0, tokens: 0, images: 0 };

let test: TestGateway;
beforeAll(async () => {
  test = await openTestGateway({ plans });
});
afterAll(() => test.close());

const embed = async (key: string, json: object, path = '/v1/embeddings') => {
  const { status, body } = await test.call('POST', path, { key, json });
  expect([status, body.error]).toEqual([200, undefined]);
  return body;
};
const summaryOf = async (key: string, query = '', through = test): Promise<UsageSummary> => {
  const { status, body } = await through.call('GET', `/v1/usage/summary${query}`, { key });
  expect([status, body.error]).toEqual([200, undefined]);
  expect(UsageSummary.strict().parse(body)).toEqual(body);
  return body;
};
const todayUtc = () => new Date().toISOString().slice(0, 10);

describe('GET /v1/usage/summary', () => {
  it('the summary of an organization without usage is all zeros', async () => {
    const key = await test.key({ org: 'idle', scopes: ['search'] });
    const summary = await summaryOf(key);
    const start = new Date(`${todayUtc().slice(0, 7)}-01T00:00:00.000Z`);
    const end = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1));
    expect(summary).toEqual({
      object: 'usage.summary',
      org_id: expect.stringMatching(/^org_/),
      plan: 'free',
      period: { start: start.toISOString(), end: end.toISOString() },
      axes: {
        embed: { ...NOTHING, limit: 1000, remaining: 1000 },
        embed_batch: { ...NOTHING, limit: null, remaining: null },
        embed_image: { ...NOTHING, limit: null, remaining: null },
        answers: { ...NOTHING, output_tokens: 0, price: null, limit: null, remaining: null },
      },
      by_model: [],
      by_day: [],
    });
  });

  it('a summary counts cached, repeated and new texts alike, by axis, model and day', async () => {
    const key = await test.key({ org: 'busy', scopes: ['embed'] });
    const one = await embed(key, { input: 'a text of its own', model: SMALL });
    const again = await embed(key, { input: 'a text of its own', model: SMALL });
    expect(again.usage).toEqual(one.usage);
    const three = await embed(key, { input: ['same', 'same', 'another'], model: LARGE });
    const batch = await embed(key, { texts: ['배는 일곱 시에 떠납니다', '같은 말'], model: KOREAN }, '/v1/embed/batch');
    expect(batch.usage.tokens).toBe(fakeTokens('배는 일곱 시에 떠납니다') + fakeTokens('같은 말'));
    const alias = await embed(key, { input: 'the alias picks a backend for these words' });
    expect(alias.model).toBe(MULTILINGUAL);

    const [small, large] = [2 * one.usage.total_tokens, three.usage.total_tokens];
    const [korean, multilingual] = [batch.usage.tokens, alias.usage.total_tokens];
    const summary = await summaryOf(key);
    expect(summary.axes).toEqual({
      embed: { requests: 3, texts: 3, tokens: small + multilingual, images: 0, limit: 1000, remaining: 997 },
      embed_batch: { requests: 2, texts: 5, tokens: large + korean, images: 0, limit: null, remaining: null },
      embed_image: { ...NOTHING, limit: null, remaining: null },
      answers: { ...NOTHING, output_tokens: 0, price: null, limit: null, remaining: null },
    });
    const byModel = [
      { model: SMALL, requests: 2, tokens: small },
      { model: LARGE, requests: 1, tokens: large },
      { model: KOREAN, requests: 1, tokens: korean },
      { model: MULTILINGUAL, requests: 1, tokens: multilingual },
    ];
    expect(new Map(summary.by_model.map((row) => [row.model, row]))).toEqual(
      new Map(byModel.map((row) => [row.model, row])),
    );
    const tokens = small + large + korean + multilingual;
    expect(summary.by_model.map((row) => row.tokens)).toEqual(byModel.map((row) => row.tokens).sort((a, b) => b - a));
    expect(summary.by_day).toEqual([{ date: todayUtc(), requests: 5, tokens }]);
  });

  it('a summary names the fallback model that answered', async () => {
    const key = await test.key({ org: 'falls back', scopes: ['embed', 'routing:manage'] });
    await test.call('PUT', '/v1/routing', { key, json: { primary: LARGE, fallback: KOREAN, mode: 'fallback' } });
    test.upstream.decide = () => ({ kind: 'status', status: 503 });
    await embed(key, { input: 'who answers this' });
    test.upstream.decide = () => null;
    expect((await summaryOf(key)).by_model).toEqual([{ model: KOREAN, requests: 1, tokens: expect.any(Number) }]);
  });

  it('a summary counts searches and ingest, whose calls are internal', async () => {
    const own = await openTestGateway({ plans });
    const worker = own.appliance.jobs.worker('ingest');
    try {
      await worker.start(new AbortController().signal);
      const key = await own.key({ scopes: ['search', 'documents:write'] });
      const text = 'The ferry to Jeju leaves at seven. '.repeat(200);
      const json = { filename: 'ferry.txt', text };
      const { body: taken } = await own.call('POST', '/v1/buckets/default/documents', { key, json });
      const job = await until(async () => {
        const { body } = await own.call('GET', `/v1/jobs/${taken.job_id}`, { key });
        return body.completed_at !== null && body;
      });
      expect(job).toMatchObject({ status: 'ready' });
      expect(job.chunks_count).toBeGreaterThan(1);
      const ingested = await summaryOf(key, '', own);
      expect(ingested.axes.embed_batch).toMatchObject({ requests: 1, texts: job.chunks_count });
      expect(ingested.axes.embed).toMatchObject(NOTHING);
      expect(ingested.by_model).toEqual([{ ...ingested.by_model[0], model: MULTILINGUAL }]);

      for (let n = 0; n < 2; n++) {
        await own.call('POST', '/v2/buckets/default/search', { key, json: { query: 'when does the ferry leave' } });
      }
      const searched = await summaryOf(key, '', own);
      expect(searched.axes.embed).toMatchObject({ requests: 2, texts: 2 });
      const rows = await own.appliance.sql`SELECT DISTINCT internal FROM usage_ledger`;
      expect(rows.map((row) => row['internal'])).toEqual([true]);
    } finally {
      await worker.stop();
      await own.close();
    }
  });

  it('a summary of a period counts only that period', async () => {
    const key = await test.key({ org: 'by period', scopes: ['embed'] });
    await embed(key, { input: 'in this period', model: SMALL });
    const day = todayUtc();
    const tomorrow = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    const today = await summaryOf(key, `?from=${day}&to=${tomorrow}`);
    expect(today.period).toEqual({ start: `${day}T00:00:00.000Z`, end: `${tomorrow}T00:00:00.000Z` });
    expect(today.axes.embed.requests).toBe(1);
    const past = await summaryOf(key, '?from=2026-01-01&to=2026-02-01T00:00:00Z');
    expect([past.axes.embed.requests, past.axes.embed.remaining, past.by_day]).toEqual([0, 999, []]);
  });

  it('a summary shows the usage of one organization only', async () => {
    const [key, other] = [await test.key({ org: 'mine', scopes: ['embed'] }), await test.key({ org: 'yours' })];
    await embed(key, { input: 'mine', model: SMALL });
    const [mine, yours] = [await summaryOf(key), await summaryOf(other)];
    expect(mine.org_id).not.toBe(yours.org_id);
    expect([mine.axes.embed.requests, yours.axes.embed.requests]).toEqual([1, 0]);
  });
});

describe('a process that stops', () => {
  it('a stopped process has booked every request that it answered, the last ones too', async () => {
    const installation = await openTestAppliance({ plans });
    const first = await openTestGateway({ plans }, {}, { beside: installation });
    const key = await first.key({ org: 'drained', scopes: ['embed'] });
    const inputs = Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? `text ${n}` : [`text ${n}`, 'shared']));
    first.upstream.decide = () => ({ kind: 'delay', ms: 50 });
    // Requests whose connection was not accepted before the listener closed get no answer, and are not booked.
    const requests = Promise.allSettled(
      inputs.map((input) => first.call('POST', '/v1/embeddings', { key, json: { input, model: SMALL } })),
    );
    await until(async () => first.upstream.calls.length > 0, { what: 'the first call' });
    // The API drains: requests it has accepted are answered, and then booked.
    await first.close();
    const bodies = (await requests).flatMap((answer) =>
      answer.status === 'fulfilled' && answer.value.status === 200 ? [answer.value.body] : [],
    );
    expect(bodies.length).toBeGreaterThan(0);

    const second = await openTestGateway({ plans }, {}, { beside: installation });
    try {
      const summary = await summaryOf(key, '', second);
      const texts = bodies.reduce((sum, body) => sum + body.data.length, 0);
      const singles = bodies.filter((body) => body.data.length === 1).length;
      expect(summary.axes.embed).toMatchObject({ requests: singles, texts: singles, remaining: 1000 - singles });
      expect(summary.axes.embed_batch).toMatchObject({ requests: bodies.length - singles, texts: texts - singles });
      const tokens = bodies.reduce((sum, body) => sum + body.usage.total_tokens, 0);
      expect(summary.axes.embed.tokens + summary.axes.embed_batch.tokens).toBe(tokens);
    } finally {
      await second.close();
      await installation.close();
    }
  });
});

describe('GET /v1/usage', () => {
  it('usage is summed by the fields that are asked for, in the own organization only', async () => {
    const key = await test.key({ org: 'summed' });
    await embed(key, { input: 'one', model: SMALL });
    await embed(key, { input: ['two', 'three'], model: LARGE });
    const list = async (query: string, by = key) => (await test.call('GET', `/v1/usage${query}`, { key: by })).body;
    const day = todayUtc();
    expect((await list('')).data).toMatchObject([{ day, requests: 2, texts: 3 }]);
    expect(
      (await list('?by=model,axis')).data.map(({ axis, model }: { axis: string; model: string }) => [axis, model]),
    ).toEqual([
      ['embed', SMALL],
      ['embed_batch', LARGE],
    ]);
    expect((await list('?by=internal')).data).toMatchObject([{ internal: false, texts: 3 }]);
    expect((await list('?from=2020-01-01&to=2020-02-01')).data).toEqual([]);
    expect((await list('', await test.key({ org: 'idle' }))).data).toEqual([]);
    for (const query of ['?by=key', '?by=', '?from=x', '?from=2020-01-01&to=2026-01-01']) {
      expect((await test.call('GET', `/v1/usage${query}`, { key })).status).toBe(400);
    }
  });

  it('usage is summed by key and user, of all for those who manage keys, else of the caller alone', async () => {
    const [one, two] = [await test.key({ org: 'by-key' }), await test.key({ org: 'by-key' })];
    const manager = await test.key({ org: 'by-key', scopes: ['keys:manage'] });
    const idOf = (key: string) => key.split('_')[1] as string;
    await embed(one, { input: 'one', model: SMALL });
    await embed(one, { input: 'one again', model: SMALL });
    await embed(two, { input: ['two', 'three'], model: LARGE });
    const list = async (key: string) => (await test.call('GET', '/v1/usage/keys', { key })).body.data;
    const all = await list(manager);
    expect(all.map(({ key_id }: { key_id: string }) => key_id).toSorted()).toEqual([idOf(one), idOf(two)].toSorted());
    const own = all.find(({ key_id }: { key_id: string }) => key_id === idOf(one));
    expect(own).toMatchObject({ actor: `key:${idOf(one)}`, name: 'test', requests: 2, tokens: expect.any(Number) });
    expect(await list(one)).toEqual([own]);
    expect(await list(await test.key({ org: 'idle' }))).toEqual([]);
  });
});
