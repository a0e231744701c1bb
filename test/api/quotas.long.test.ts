import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageSummary } from '../../src/usage/schema.ts';
import type { Answer } from '../support/api.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const CLIENTS = 200;
const LIMIT = 1000;
const plans = {
  free: { quotas: { embed: 100, embed_batch: LIMIT, embed_image: 0 } },
  starter: { quotas: { embed: 3, embed_batch: 10 } },
};

/** Two gateways of one installation that act as two processes: each has its own API, pool, cache and ledger. */
let installation: TestAppliance;
let first: TestGateway;
let second: TestGateway;

beforeAll(async () => {
  installation = await openTestAppliance({ plans });
  first = await openTestGateway({ plans }, {}, { beside: installation });
  second = await openTestGateway({ plans }, {}, { beside: installation });
});
afterAll(async () => {
  await first.close();
  await second.close();
  await installation.close();
});

let serial = 0;
const fresh = (count: number) => Array.from({ length: count }, () => `text number ${++serial}`);
const embed = (input: string | string[], key: string, through = first, model = SMALL): Promise<Answer> =>
  through.call('POST', '/v1/embeddings', { key, json: { input, model, dimensions: 8 } });
const usage = async (key: string, through = first) =>
  UsageSummary.parse((await through.call('GET', '/v1/usage/summary', { key })).body);

async function organization(name: string, plan: 'free' | 'starter' = 'free'): Promise<string> {
  await installation.appliance.access.createOrganization({ name, plan });
  return first.key({ org: name, scopes: ['embed'] });
}

function expectRefusals(answers: readonly Answer[]): void {
  for (const { status, body, headers } of answers) {
    expect(status).toBe(402);
    expect(body).toEqual({
      error: {
        message: expect.stringMatching(/plan "free" has \d+ texts a month/),
        type: 'insufficient_quota',
        param: null,
        code: 'quota_exceeded',
        details: expect.objectContaining({ plan: 'free', remaining: expect.any(Number) }),
      },
      request_id: headers.get('x-request-id'),
    });
  }
}

describe('200 concurrent clients on a limit', () => {
  it.each([
    ['one process', () => [first]],
    ['two processes', () => [first, second]],
  ])('exactly 1,000 texts of 200 concurrent clients pass a limit of 1,000, in %s', async (name, through) => {
    const key = await organization(`clients of ${name}`);
    const gates = through();
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, (_, n) => embed(fresh(10), key, gates[n % gates.length])),
    );
    const passed = answers.filter(({ status }) => status === 200);
    expect(passed.reduce((texts, { body }) => texts + body.data.length, 0)).toBe(LIMIT);
    expectRefusals(answers.filter(({ status }) => status !== 200));
    for (const gate of gates) {
      await gate.appliance.usage.meter.flush();
      expect((await usage(key, gate)).axes.embed_batch).toMatchObject({ limit: LIMIT, remaining: 0 });
    }
    expect((await usage(key)).axes.embed_batch).toMatchObject({ requests: 100, texts: LIMIT });
    expectRefusals([await embed(fresh(2), key)]);
    expect((await embed(fresh(1), key)).status).toBe(200);
  });

  it('requests of different sizes never pass the limit, and leave less than the largest refused request', async () => {
    const key = await organization('clients of different sizes');
    const sizes = Array.from({ length: CLIENTS }, (_, n) => 2 + ((n * 7) % 30));
    const answers = await Promise.all(sizes.map((size, n) => embed(fresh(size), key, n % 2 === 0 ? first : second)));
    const texts = sizes.filter((_, n) => answers[n]?.status === 200).reduce((sum, size) => sum + size, 0);
    expect(texts).toBeLessThanOrEqual(LIMIT);
    const refused = sizes.filter((_, n) => answers[n]?.status === 402);
    expect(refused.length + answers.filter(({ status }) => status === 200).length).toBe(CLIENTS);
    expect(LIMIT - texts).toBeLessThan(Math.max(...refused));
    await second.appliance.usage.meter.flush();
    expect((await usage(key)).axes.embed_batch).toMatchObject({ texts, remaining: LIMIT - texts });
  });

  it('exactly 100 single texts pass a limit of 100, on an axis of their own', async () => {
    const key = await organization('clients of single texts');
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, (_, n) => embed(fresh(1)[0] as string, key, n % 2 === 0 ? first : second)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expectRefusals(answers.filter(({ status }) => status !== 200));
    expect((await embed(fresh(2), key)).status).toBe(200);
  });
});

describe('failed requests', () => {
  it.each([
    ['the vendor refuses the texts', { kind: 'status', status: 400, body: { error: { message: 'no' } } }, 400],
    ['the vendor is down', { kind: 'status', status: 500 }, 502],
    ['the vendor answers nonsense', { kind: 'nan' }, 502],
  ] as const)('a request releases its reservation when %s', async (name, behaviour, status) => {
    const key = await organization(name, 'starter');
    first.upstream.decide = () => behaviour;
    for (let n = 0; n < 4; n++) expect((await embed(fresh(10), key)).status).toBe(status);
    first.upstream.decide = () => null;
    expect((await usage(key)).axes.embed_batch).toMatchObject({ requests: 0, texts: 0, remaining: 10 });
    // The vendor's circuit breaker is open by now; the other process has its own.
    expect((await embed(fresh(10), key, second)).status).toBe(200);
    expect((await embed(fresh(2), key, second)).status).toBe(402);
  });

  it.each([
    ['an unknown model', { input: ['a', 'b'], model: 'vendor-z/none' }],
    ['a text that is too long', { input: ['a', 'word '.repeat(9000)], model: SMALL }],
    ['a wrong dimension', { input: ['a', 'b'], dimensions: 5000 }],
  ])('a refused request with %s releases its reservation', async (name, json) => {
    const key = await organization(name, 'starter');
    const calls = second.upstream.calls.length;
    expect((await second.call('POST', '/v1/embeddings', { key, json })).status).toBe(400);
    expect(second.upstream.calls).toHaveLength(calls);
    expect((await usage(key, second)).axes.embed_batch).toMatchObject({ requests: 0, texts: 0, remaining: 10 });
  });

  it('a request releases its reservation when the client disconnects before the answer', async () => {
    const key = await organization('clients that leave', 'starter');
    second.upstream.decide = () => ({ kind: 'stall' });
    const leaving = new AbortController();
    const calls = second.upstream.calls.length;
    const aborted = fetch(`${second.api.url}/v1/embeddings`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: fresh(10), model: SMALL }),
      signal: leaving.signal,
    });
    await until(async () => second.upstream.calls.length === calls + 1, { what: 'the call' });
    expect((await embed(fresh(2), key, first)).status).toBe(402);
    leaving.abort();
    await expect(aborted).rejects.toThrow();
    second.upstream.decide = () => null;
    await until(async () => (await embed(fresh(10), key, second)).status === 200, { what: 'the released texts' });
  });
});

describe('an axis that the plan sets to 0', () => {
  it('a request on an axis that the plan sets to 0 is a 403 in the embedding error shape, and is not counted', async () => {
    const key = await organization('without images');
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
    const { status, body, headers } = await first.call('POST', '/v1/embed/image', { key, json: { images: [png] } });
    expect(status).toBe(403);
    expect(body).toMatchObject({
      error: { type: 'permission_error', code: 'axis_not_in_plan', message: expect.stringContaining('embed_image') },
      request_id: headers.get('x-request-id'),
    });
    expect((await usage(key)).axes.embed_image).toEqual({
      requests: 0,
      texts: 0,
      tokens: 0,
      images: 0,
      limit: 0,
      remaining: 0,
    });
    expect((await embed(fresh(2), key, second)).status).toBe(200);
  });
});
