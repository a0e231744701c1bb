import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { PROTOCOLS } from '../../../src/embedding/providers/provider.ts';
import { startDeadline } from '../../../src/platform/deadline.ts';
import { fakeTokens } from '../../support/fake-upstream.ts';
import {
  callOf,
  clock,
  DIMENSIONS,
  modelOf,
  multiTextModelOf,
  rowsOf,
  settingsOf,
  startProvider,
  startUpstream,
  texts,
} from './provider-under-test.ts';

it.each(PROTOCOLS)(
  'a provider over the protocol %s splits by the caps and returns vectors in the order of the texts',
  async (protocol) => {
    const upstream = await startUpstream();
    const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol), { itemsMax: 7 }));
    const own = multiTextModelOf(protocol);
    const { vectors, tokens } = await provider.embed(callOf(texts(50), { model: own }));
    const model = upstream.calls[0]?.model ?? '';
    expect(rowsOf(vectors, 50)).toEqual(texts(50).map((text) => Array.from(upstream.vectorOf(model, text))));
    expect(tokens).toEqual(texts(50).map(fakeTokens));
    expect(upstream.calls).toHaveLength(8);
    expect(upstream.concurrencySeen).toBeLessThanOrEqual(4);
    expect(upstream.violations).toEqual([]);
  },
);

it('a provider sends the model name of the vendor or of the settings, and the dimension of the model', async () => {
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

it('a provider sends the task type to the vendor', async () => {
  const upstream = await startUpstream();
  const { provider } = startProvider(settingsOf('cohere', upstream.baseUrl('cohere')));
  await provider.embed(callOf(['one'], { taskType: 'retrieval_query' }));
  await provider.embed(callOf(['two'], { taskType: 'retrieval_document' }));
  expect(upstream.calls.map(({ taskType }) => taskType)).toEqual(['search_query', 'search_document']);
});

it('a provider distributes the vendor’s tokens if ours are an estimate, and keeps ours if they are exact', async () => {
  const upstream = await startUpstream();
  const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')));
  const counts = [1, 2, 3];
  const three = ['aaaa', 'bbbbbbbb', 'cccccccccccc'];
  expect((await provider.embed(callOf(three, { counts }))).tokens).toEqual([1, 8, 15]);
  const exact = modelOf({ tokenizer: { kind: 'cl100k' } });
  expect((await provider.embed(callOf(three, { counts, model: exact }))).tokens).toEqual(counts);
});

it('a provider stays below the token cap, with a margin if tokens are an estimate', async () => {
  const upstream = await startUpstream();
  const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { tokensMax: 30 }));
  const tens = ['a'.repeat(10), 'b'.repeat(10), 'c'.repeat(10)];
  await provider.embed(callOf(tens));
  expect(upstream.calls.map((call) => call.texts.length).sort()).toEqual([1, 2]);
  await provider.embed(callOf(tens, { model: modelOf({ tokenizer: { kind: 'cl100k' } }) }));
  expect(upstream.calls.map((call) => call.texts.length).sort()).toEqual([1, 2, 3]);
});

it('caps that a server reports are requested once and used', async () => {
  const upstream = await startUpstream({ itemsMax: 50 });
  const { provider } = startProvider(settingsOf('tei', upstream.baseUrl('tei')));
  await Promise.all([provider.embed(callOf(texts(50))), provider.embed(callOf(texts(3)))]);
  await provider.embed(callOf(texts(60)));
  expect(upstream.calls.map((call) => call.texts.length).sort((one, other) => one - other)).toEqual([3, 10, 50, 50]);
  expect(upstream.violations).toEqual([]);
});

it('caps that a server reports never exceed those of the operator', async () => {
  const upstream = await startUpstream({ itemsMax: 50 });
  const { provider } = startProvider(settingsOf('tei', upstream.baseUrl('tei'), { itemsMax: 10 }));
  await provider.embed(callOf(texts(20)));
  expect(upstream.calls.map((call) => call.texts.length)).toEqual([10, 10]);
});

it('the caps of the protocol apply if the server reports none, and later calls do not wait for the server', async () => {
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

it('a provider never has more calls in progress than its concurrency allows', async () => {
  const upstream = await startUpstream();
  upstream.decide = () => ({ kind: 'delay', ms: 5 });
  const { provider } = startProvider(
    settingsOf('openai', upstream.baseUrl('openai'), { concurrencyMax: 3, itemsMax: 2 }),
  );
  await Promise.all(Array.from({ length: 30 }, (_, index) => provider.embed(callOf(texts(1 + (index % 5))))));
  expect(upstream.concurrencySeen).toBe(3);
});

it('a provider merges calls only while it is saturated', async () => {
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

it('the refused text of one client fails no other client of a merged call', async () => {
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

it('an abort ends a call that hangs, and its connection', async () => {
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

it('an abort ends the wait for a retry', async () => {
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

it('a deadline ends the wait for a free call, and for the caps of the server', async () => {
  const upstream = await startUpstream();
  upstream.decide = () => ({ kind: 'stall' });
  const { provider } = startProvider(settingsOf('tei', upstream.baseUrl('tei'), { concurrencyMax: 1 }));
  const reasons = Array.from({ length: 3 }, async (_, index) => {
    const deadline = startDeadline(50 * index, undefined, () => new Error('out of time'));
    return provider.embed(callOf(['text'], { signal: deadline.signal })).catch((error: Error) => error.message);
  });
  expect(await Promise.all(reasons)).toEqual(['out of time', 'out of time', 'out of time']);
});

it('a provider reports an overload when too many texts wait', async () => {
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

it('a closed provider fails calls in progress and refuses later ones', async () => {
  const upstream = await startUpstream();
  upstream.decide = () => ({ kind: 'stall' });
  const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai')));
  const hanging = provider.embed(callOf(['text']));
  const expected = { code: 'provider_unavailable', details: { cause: 'closing' } };
  await provider.close();
  await expect(hanging).rejects.toMatchObject(expected);
  await expect(provider.embed(callOf(['text']))).rejects.toMatchObject(expected);
});

it('a provider accepts only vectors of the native length', async () => {
  const upstream = await startUpstream({ dimensions: DIMENSIONS + 1 });
  const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), { retriesMax: 0 }));
  await expect(provider.embed(callOf(['text']))).rejects.toMatchObject({ details: { cause: 'invalid_answer' } });
});
