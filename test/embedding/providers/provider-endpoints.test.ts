import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { PROTOCOLS } from '../../../src/embedding/providers/provider.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { openUpstreamMetrics } from '../../../src/platform/upstream/upstream-metrics.ts';
import { callOf, clock, settingsOf, startProvider, startUpstream, texts } from './provider-under-test.ts';

it('a delay that the vendor asks for is observed', async () => {
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

it('a delay that the vendor asks for is observed by other calls too', async () => {
  const upstream = await startUpstream();
  const { now, pass } = clock();
  upstream.next({ kind: 'status', status: 429, headers: { 'retry-after': '30' } });
  const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')), { now });
  const failedBy = (cause: string) => ({ details: { provider: 'vendor-x', cause }, retryAfterSeconds: 30 });
  await expect(provider.embed(callOf(['one']))).rejects.toMatchObject(failedBy('http_429'));
  await expect(provider.embed(callOf(['two']))).rejects.toMatchObject(failedBy('retry_after'));
  expect(upstream.calls).toHaveLength(1);
  pass(30_000);
  await provider.embed(callOf(['three']));
  expect(upstream.calls).toHaveLength(2);
});

const endpoint = (name: string, baseUrl: string, weight = 1) => ({
  name,
  baseUrl,
  apiKey: new Secret(`secret-of-${name}`),
  cloud: null,
  weight,
});

const apiKeys = ['secret-of-one', 'secret-of-two', 'secret-of-old'];

it('endpoints of a provider get their shares of the calls by weight', async () => {
  const upstream = await startUpstream({ apiKeys });
  const baseUrl = upstream.baseUrl('openai');
  const endpoints = [endpoint('one', baseUrl, 3), endpoint('two', baseUrl, 1)];
  const { provider } = startProvider(settingsOf('openai', baseUrl, { endpoints }));
  for (const text of texts(8)) await provider.embed(callOf([text]));
  const keys = upstream.calls.map(({ apiKey }) => apiKey);
  expect(keys.filter((key) => key === 'secret-of-one')).toHaveLength(6);
  expect(keys.filter((key) => key === 'secret-of-two')).toHaveLength(2);
});

it('another endpoint replaces one whose key is refused, at once and without a retry', async () => {
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

it('another endpoint replaces one that is down', async () => {
  const upstream = await startUpstream({ apiKeys });
  const baseUrl = upstream.baseUrl('openai');
  const endpoints = [endpoint('one', 'http://127.0.0.1:1/v1'), endpoint('two', baseUrl)];
  const { provider, logs } = startProvider(settingsOf('openai', baseUrl, { endpoints }));
  for (const text of texts(12)) await provider.embed(callOf([text]));
  expect(upstream.calls).toHaveLength(12);
  expect(logs.lines.map((line) => [line['endpoint'], line['cause']])).toEqual([['one', 'failing']]);
});

it('another endpoint replaces one that limits the rate, without a wait', async () => {
  const upstream = await startUpstream({ apiKeys });
  const baseUrl = upstream.baseUrl('openai');
  upstream.decide = ({ apiKey }) =>
    apiKey === 'secret-of-one' ? { kind: 'status', status: 429, headers: { 'retry-after': '600' } } : null;
  const endpoints = [endpoint('one', baseUrl), endpoint('two', baseUrl)];
  const { provider } = startProvider(settingsOf('openai', baseUrl, { endpoints }));
  for (const text of texts(4)) await provider.embed(callOf([text]));
  expect(upstream.calls.map(({ apiKey }) => apiKey).filter((key) => key === 'secret-of-one')).toHaveLength(1);
});

it('a provider stops calling a vendor that is down, and one probe detects that it is up again', async () => {
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

it('the key of a provider is in no error, log line or metric', async () => {
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
    const endpoints = [{ name: 'key-1', baseUrl, apiKey: new Secret(canary), cloud: null, weight: 1 }];
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

it('metrics of a provider count attempts by outcome and show calls in progress', async () => {
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
