import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDeadline } from '../../../src/embedding/deadline.ts';
import { PROTOCOLS } from '../../../src/embedding/providers/provider.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { openUpstreamMetrics } from '../../../src/platform/upstream/upstream-metrics.ts';
import { fakeTokens } from '../../support/fake-upstream.ts';
import {
  callOf,
  DIMENSIONS,
  modelOf,
  rowsOf,
  settingsOf,
  startProvider,
  startUpstream,
} from './provider-under-test.ts';

function texts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `text ${index}`);
}

/** A clock that moves when it is told to. */
function clock() {
  let nowMs = 1_000;
  return {
    now: () => nowMs,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('openProvider', () => {
  describe.each(PROTOCOLS)('over the protocol %s', (protocol) => {
    it('splits by the caps and gives the vectors in the order of the texts', async () => {
      const upstream = await startUpstream();
      const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol), { itemsMax: 7 }));
      const { vectors, tokens } = await provider.embed(callOf(texts(50)));
      const model = upstream.calls[0]?.model ?? '';
      expect(rowsOf(vectors, 50)).toEqual(texts(50).map((text) => Array.from(upstream.vectorOf(model, text))));
      expect(tokens).toEqual(texts(50).map(fakeTokens));
      expect(upstream.calls).toHaveLength(8);
      expect(upstream.concurrencySeen).toBeLessThanOrEqual(4);
      expect(upstream.violations).toEqual([]);
    });
  });

  it('names the model as the vendor does, or as the settings say, and asks for the dimension of the model', async () => {
    const upstream = await startUpstream();
    const models = { 'vendor-x/model-2': 'another/name' };
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { models }));
    const model2 = modelOf({ id: 'vendor-x/model-2', nativeDimension: 4, upstreamDimensions: 4 });
    await provider.embed(callOf(['one']));
    expect((await provider.embed(callOf(['two'], { model: model2 }))).vectors).toHaveLength(4);
    await provider.embed(callOf(['three'], { model: modelOf({ id: 'my-org/my-model' }) }));
    expect(upstream.calls.map(({ model, dimensions }) => [model, dimensions])).toEqual([
      ['model-1', null],
      ['another/name', 4],
      ['my-org/my-model', null],
    ]);
  });

  it('tells the task type', async () => {
    const upstream = await startUpstream();
    const { provider } = startProvider(settingsOf('cohere', upstream.baseUrl('cohere')));
    await provider.embed(callOf(['one'], { taskType: 'retrieval_query' }));
    await provider.embed(callOf(['two'], { taskType: 'retrieval_document' }));
    expect(upstream.calls.map(({ taskType }) => taskType)).toEqual(['search_query', 'search_document']);
  });

  it("shares the vendor's tokens where ours are an estimate, and keeps ours where they are exact", async () => {
    const upstream = await startUpstream();
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')));
    const counts = [1, 2, 3];
    const three = ['aaaa', 'bbbbbbbb', 'cccccccccccc'];
    expect((await provider.embed(callOf(three, { counts }))).tokens).toEqual([1, 8, 15]);
    const exact = modelOf({ tokenizer: { kind: 'cl100k' } });
    expect((await provider.embed(callOf(three, { counts, model: exact }))).tokens).toEqual(counts);
  });

  it('keeps below the token cap, with a margin where tokens are an estimate', async () => {
    const upstream = await startUpstream();
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { tokensMax: 30 }));
    const tens = ['a'.repeat(10), 'b'.repeat(10), 'c'.repeat(10)];
    await provider.embed(callOf(tens));
    expect(upstream.calls.map((call) => call.texts.length).sort()).toEqual([1, 2]);
    await provider.embed(callOf(tens, { model: modelOf({ tokenizer: { kind: 'cl100k' } }) }));
    expect(upstream.calls.map((call) => call.texts.length).sort()).toEqual([1, 2, 3]);
  });

  describe('caps that the server tells', () => {
    it('are asked for once and used', async () => {
      const upstream = await startUpstream({ itemsMax: 50 });
      const { provider } = startProvider(settingsOf('tei', upstream.baseUrl('tei')));
      await Promise.all([provider.embed(callOf(texts(50))), provider.embed(callOf(texts(3)))]);
      await provider.embed(callOf(texts(60)));
      expect(upstream.calls.map((call) => call.texts.length).sort((one, other) => one - other)).toEqual([
        3, 10, 50, 50,
      ]);
      expect(upstream.violations).toEqual([]);
    });

    it('never exceed what the operator allows', async () => {
      const upstream = await startUpstream({ itemsMax: 50 });
      const { provider } = startProvider(settingsOf('tei', upstream.baseUrl('tei'), { itemsMax: 10 }));
      await provider.embed(callOf(texts(20)));
      expect(upstream.calls.map((call) => call.texts.length)).toEqual([10, 10]);
    });

    it('are those of the protocol where the server does not tell, and nobody waits for that again', async () => {
      let asked = 0;
      const sizes: number[] = [];
      const server = createServer(async (request, response) => {
        if (request.url === '/info') {
          asked++;
          response.writeHead(404).end();
          return;
        }
        const { inputs } = JSON.parse((await request.toArray()).join('')) as { inputs: string[] };
        sizes.push(inputs.length);
        response.end(JSON.stringify(inputs.map(() => [1, ...new Array(DIMENSIONS - 1).fill(0)])));
      });
      server.listen(0, '127.0.0.1');
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      const { now, pass } = clock();
      const { port } = server.address() as AddressInfo;
      const { provider } = startProvider(settingsOf('tei', `http://127.0.0.1:${port}`), { now });
      await provider.embed(callOf(texts(33)));
      await provider.embed(callOf(texts(3)));
      expect([sizes.toSorted((one, other) => one - other), asked]).toEqual([[1, 3, 32], 1]);
      pass(60_000);
      await provider.embed(callOf(texts(3)));
      await expect.poll(() => asked).toBe(2);
    });
  });

  it('never has more calls under way than it may', async () => {
    const upstream = await startUpstream();
    upstream.decide = () => ({ kind: 'delay', ms: 5 });
    const { provider } = startProvider(
      settingsOf('openai', upstream.baseUrl('openai'), { concurrencyMax: 3, itemsMax: 2 }),
    );
    await Promise.all(Array.from({ length: 30 }, (_, index) => provider.embed(callOf(texts(1 + (index % 5))))));
    expect(upstream.concurrencySeen).toBe(3);
  });

  it('merges calls while it is saturated, and only then', async () => {
    const upstream = await startUpstream();
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { concurrencyMax: 2 }));
    const embedAll = (count: number) => Promise.all(texts(count).map((text) => provider.embed(callOf([text]))));
    await embedAll(2);
    expect(upstream.calls).toHaveLength(2);
    const replies = await embedAll(20);
    expect(upstream.calls.slice(2).map((call) => call.texts.length)).toEqual([1, 1, 18]);
    expect(replies.map(({ vectors }) => Array.from(vectors))).toEqual(
      texts(20).map((text) => Array.from(upstream.vectorOf('model-1', text))),
    );
    expect(replies.map(({ tokens }) => tokens)).toEqual(texts(20).map((text) => [fakeTokens(text)]));
  });

  it("lets one client's bad text fail nobody else", async () => {
    const upstream = await startUpstream();
    upstream.decide = (call) =>
      call.texts.includes('bad') ? { kind: 'status', status: 400, body: { error: { message: 'too long' } } } : null;
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { concurrencyMax: 1 }));
    const outcomes = await Promise.allSettled(['a', 'b', 'bad', 'c'].map((text) => provider.embed(callOf([text]))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({
      reason: { code: 'upstream_rejected', message: expect.stringContaining('too long') },
    });
  });

  describe('the time of the caller', () => {
    it('ends a call that hangs, and the connection with it', async () => {
      const upstream = await startUpstream();
      const controller = new AbortController();
      upstream.decide = () => {
        controller.abort(new Error('out of time'));
        return { kind: 'stall' };
      };
      const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')));
      await expect(provider.embed(callOf(['text'], { signal: controller.signal }))).rejects.toThrow('out of time');
      await expect.poll(() => upstream.calls[0]?.aborted).toBe(true);
    });

    it('ends the wait for a retry', async () => {
      const upstream = await startUpstream();
      upstream.decide = () => ({ kind: 'status', status: 503, headers: { 'retry-after': '9' } });
      const controller = new AbortController();
      const attempted = () => void setImmediate(() => controller.abort(new Error('out of time')));
      const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')), {
        metrics: { attempted, watch: () => () => {} },
      });
      await expect(provider.embed(callOf(['text'], { signal: controller.signal }))).rejects.toThrow('out of time');
      expect(upstream.calls).toHaveLength(1);
    });

    it('ends the wait for a free call, and for the caps of the server', async () => {
      const upstream = await startUpstream();
      upstream.decide = () => ({ kind: 'stall' });
      const { provider } = startProvider(settingsOf('tei', upstream.baseUrl('tei'), { concurrencyMax: 1 }));
      const reasons = Array.from({ length: 3 }, async (_, index) => {
        const deadline = startDeadline(50 * index, undefined, () => new Error('out of time'));
        return provider.embed(callOf(['text'], { signal: deadline.signal })).catch((error: Error) => error.message);
      });
      expect(await Promise.all(reasons)).toEqual(['out of time', 'out of time', 'out of time']);
    });
  });

  describe('a delay that the vendor asks for', () => {
    it('is kept', async () => {
      const upstream = await startUpstream();
      const atMs: number[] = [];
      upstream.decide = () => {
        atMs.push(performance.now());
        return atMs.length === 1 ? { kind: 'status', status: 429, headers: { 'retry-after-ms': '120' } } : null;
      };
      const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')));
      await provider.embed(callOf(['text']));
      expect((atMs[1] ?? 0) - (atMs[0] ?? 0)).toBeGreaterThanOrEqual(119);
    });

    it('is kept by other calls too', async () => {
      const upstream = await startUpstream();
      const { now, pass } = clock();
      upstream.next({ kind: 'status', status: 429, headers: { 'retry-after': '30' } });
      const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')), { now });
      const expected = { details: { provider: 'vendor-x', cause: 'http_429' }, retryAfterSeconds: 30 };
      await expect(provider.embed(callOf(['one']))).rejects.toMatchObject(expected);
      await expect(provider.embed(callOf(['two']))).rejects.toMatchObject(expected);
      expect(upstream.calls).toHaveLength(1);
      pass(30_000);
      await provider.embed(callOf(['three']));
      expect(upstream.calls).toHaveLength(2);
    });
  });

  describe('several endpoints', () => {
    const endpoint = (name: string, baseUrl: string, weight = 1) => ({
      name,
      baseUrl,
      apiKey: new Secret(`secret-of-${name}`),
      weight,
    });
    const apiKeys = ['secret-of-one', 'secret-of-two', 'secret-of-old'];

    it('get their shares by weight', async () => {
      const upstream = await startUpstream({ apiKeys });
      const baseUrl = upstream.baseUrl('openai');
      const endpoints = [endpoint('one', baseUrl, 3), endpoint('two', baseUrl, 1)];
      const { provider } = startProvider(settingsOf('openai', baseUrl, { endpoints }));
      for (const text of texts(8)) await provider.embed(callOf([text]));
      const keys = upstream.calls.map(({ apiKey }) => apiKey);
      expect(keys.filter((key) => key === 'secret-of-one')).toHaveLength(6);
      expect(keys.filter((key) => key === 'secret-of-two')).toHaveLength(2);
    });

    it('step in for one whose key is refused, at once and without a retry', async () => {
      const upstream = await startUpstream({ apiKeys });
      const baseUrl = upstream.baseUrl('openai');
      const { now, pass } = clock();
      let refusals = 0;
      upstream.decide = ({ apiKey }) => {
        if (apiKey !== 'secret-of-old') return null;
        refusals++;
        return { kind: 'status', status: 401, body: { error: { message: 'no such key: secret-of-old' } } };
      };
      const endpoints = [endpoint('old', baseUrl), endpoint('two', baseUrl)];
      const { provider, logs } = startProvider(settingsOf('openai', baseUrl, { endpoints, retriesMax: 0 }), { now });
      for (const text of texts(6)) await provider.embed(callOf([text]));
      expect(refusals).toBe(1);
      pass(60_000);
      for (const text of texts(6)) await provider.embed(callOf([text]));
      expect(refusals).toBe(2);
      expect(logs.lines.map(({ endpoint, cause, cooldownMs }) => [endpoint, cause, cooldownMs])).toEqual([
        ['old', 'refused', 60_000],
        ['old', 'refused', 120_000],
      ]);
    });

    it('step in for one that is down', async () => {
      const upstream = await startUpstream({ apiKeys });
      const baseUrl = upstream.baseUrl('openai');
      const endpoints = [endpoint('one', 'http://127.0.0.1:1/v1'), endpoint('two', baseUrl)];
      const { provider, logs } = startProvider(settingsOf('openai', baseUrl, { endpoints }));
      for (const text of texts(12)) await provider.embed(callOf([text]));
      expect(upstream.calls).toHaveLength(12);
      expect(logs.lines.map((line) => [line['endpoint'], line['cause']])).toEqual([['one', 'failing']]);
    });

    it('step in for one that limits the rate, without waiting', async () => {
      const upstream = await startUpstream({ apiKeys });
      const baseUrl = upstream.baseUrl('openai');
      upstream.decide = ({ apiKey }) =>
        apiKey === 'secret-of-one' ? { kind: 'status', status: 429, headers: { 'retry-after': '600' } } : null;
      const endpoints = [endpoint('one', baseUrl), endpoint('two', baseUrl)];
      const { provider } = startProvider(settingsOf('openai', baseUrl, { endpoints }));
      for (const text of texts(4)) await provider.embed(callOf([text]));
      expect(upstream.calls.map(({ apiKey }) => apiKey).filter((key) => key === 'secret-of-one')).toHaveLength(1);
    });
  });

  it('stops asking a vendor that is down, and lets a single probe find out that it is back', async () => {
    const upstream = await startUpstream();
    const { now, pass } = clock();
    upstream.decide = () => ({ kind: 'status', status: 503 });
    const { provider, logs } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { retriesMax: 1 }), {
      now,
    });
    const causes = [];
    for (let round = 0; round < 5; round++) {
      causes.push(await provider.embed(callOf(['text'])).catch((error) => error.details.cause));
    }
    expect(causes).toEqual(['http_503', 'http_503', 'http_503', 'breaker_open', 'breaker_open']);
    expect(upstream.calls).toHaveLength(5);
    await expect(provider.embed(callOf(['text']))).rejects.toMatchObject({ retryAfterSeconds: 10 });

    pass(10_000);
    upstream.decide = () => ({ kind: 'delay', ms: 50 });
    const outcomes = await Promise.allSettled(texts(4).map((text) => provider.embed(callOf([text]))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
    expect(upstream.calls).toHaveLength(6);
    await provider.embed(callOf(['text']));
    expect(logs.lines.map(({ state }) => state).filter(Boolean)).toEqual(['open', 'half-open', 'closed']);
  });

  it('says that it is overloaded when too many texts wait', async () => {
    const upstream = await startUpstream();
    upstream.decide = () => ({ kind: 'stall' });
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { concurrencyMax: 1 }));
    const controller = new AbortController();
    const hanging = provider.embed(callOf(['text'], { signal: controller.signal }));
    await expect(provider.embed(callOf(texts(20_001)))).rejects.toMatchObject({
      code: 'provider_unavailable',
      details: { cause: 'overloaded' },
    });
    controller.abort(new Error('gone'));
    await expect(hanging).rejects.toThrow('gone');
  });

  it('shows its key nowhere: not in errors, not in logs, not in metrics', async () => {
    const canary = 'canary-4f1c2b7d9e8a';
    const shown: string[] = [];
    for (const protocol of PROTOCOLS) {
      const upstream = await startUpstream({ apiKeys: [canary] });
      const baseUrl = upstream.baseUrl(protocol);
      const statuses = [400, 401, 404, 422, 429, 500];
      upstream.decide = (call) => {
        const message = `what is ${canary} (${call.apiKey})?`;
        const status = statuses[upstream.calls.length % statuses.length] ?? 500;
        return { kind: 'status', status, body: { error: { message, code: canary }, message, detail: message } };
      };
      const endpoints = [{ name: 'key-1', baseUrl, apiKey: new Secret(canary), weight: 1 }];
      const { now, pass } = clock();
      const registry = new Registry();
      const metrics = openUpstreamMetrics(registry);
      const { provider, logs } = startProvider(settingsOf(protocol, baseUrl, { endpoints }), { metrics, now });
      for (let round = 0; round < 8; round++) {
        pass(3_600_000);
        const error = await provider.embed(callOf(['text'])).catch((reason: Error) => reason);
        if (!(error instanceof Error)) throw new Error('it did not fail');
        shown.push(error.message, JSON.stringify(error), String((error.cause as Error | undefined)?.stack));
        logs.logger.error({ err: error }, 'failed');
      }
      shown.push(JSON.stringify(logs.lines), await registry.metrics());
      expect(upstream.calls.length).toBeGreaterThan(6);
    }
    expect(shown.filter((text) => text.includes(canary))).toEqual([]);
  });

  it('counts tries by outcome and shows what is under way', async () => {
    const upstream = await startUpstream();
    const registry = new Registry();
    const metrics = openUpstreamMetrics(registry);
    const settings = settingsOf('openai', upstream.baseUrl('openai'), { concurrencyMax: 1 });
    const { provider } = startProvider(settings, { metrics });
    upstream.next({ kind: 'status', status: 500 }, { kind: 'ok' }, { kind: 'status', status: 400 }, { kind: 'stall' });
    await provider.embed(callOf(['one']));
    await expect(provider.embed(callOf(['two']))).rejects.toMatchObject({ code: 'upstream_rejected' });
    const controller = new AbortController();
    const open = [callOf(['three'], { signal: controller.signal }), callOf(texts(5), { signal: controller.signal })];
    const hanging = open.map((call) => provider.embed(call));
    const text = await registry.metrics();
    for (const outcome of ['http_500', 'ok', 'rejected']) {
      expect(text).toContain(`service_upstream_calls_total{provider="vendor-x",outcome="${outcome}"} 1`);
    }
    expect(text).toContain('service_upstream_call_seconds_count{provider="vendor-x"} 3');
    expect(text).toContain('service_upstream_in_flight{provider="vendor-x"} 1');
    expect(text).toContain('service_upstream_queued_texts{provider="vendor-x"} 5');
    expect(text).toContain('service_upstream_breaker{provider="vendor-x"} 0');
    controller.abort(new Error('gone'));
    await Promise.allSettled(hanging);
    await provider.close();
    expect(await registry.metrics()).not.toContain('service_upstream_in_flight{');
  });

  it('fails what is under way when it is closed, and takes nothing more', async () => {
    const upstream = await startUpstream();
    upstream.decide = () => ({ kind: 'stall' });
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')));
    const hanging = provider.embed(callOf(['text']));
    const expected = { code: 'provider_unavailable', details: { cause: 'closing' } };
    await provider.close();
    await expect(hanging).rejects.toMatchObject(expected);
    await expect(provider.embed(callOf(['text']))).rejects.toMatchObject(expected);
  });

  it('reads vectors of the native length only', async () => {
    const upstream = await startUpstream({ dimensions: DIMENSIONS + 1 });
    const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { retriesMax: 0 }));
    await expect(provider.embed(callOf(['text']))).rejects.toMatchObject({ details: { cause: 'invalid_answer' } });
  });
});
