import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { openCacheMetrics } from '../../src/embedding/cache/cache-metrics.ts';
import { type NativeReply, type NativeRequest, openNativeVectors } from '../../src/embedding/native-vectors.ts';
import { scriptedProvider, testModel, tokensOf, unavailable, vectorOf } from './scripted-provider.ts';

const model = testModel('my/model');

function setUp(cacheBytes = 100_000) {
  const { provider, calls } = scriptedProvider();
  const registry = new Registry();
  const vectors = openNativeVectors({ cacheBytes, redis: null, metrics: openCacheMetrics(registry) });
  const embed = (texts: string[], more: Partial<NativeRequest> = {}) => {
    const reply = vectors.embed({
      model,
      provider,
      texts,
      taskType: null,
      signal: new AbortController().signal,
      count: (counted) => counted.map(tokensOf),
      ...more,
    });
    // Tests await the failure later.
    reply.catch(() => {});
    return reply;
  };
  return { vectors, calls, embed, registry };
}

/** Wait until all promises are settled that need no external event. */
const settlePromises = () => new Promise((resolve) => setImmediate(resolve));

function rows(reply: NativeReply): number[][] {
  return Array.from({ length: reply.tokens.length }, (_, index) => [...reply.vectors.slice(index * 4, index * 4 + 4)]);
}

const expected = (texts: string[]) => texts.map((text) => vectorOf(model, null, text));

describe('memory', () => {
  test('a text is sent once, and later requests get it from memory with the same token count', async () => {
    const { calls, embed } = setUp();
    const first = embed(['one', 'three']);
    await settlePromises();
    calls[0]?.answer();
    expect((await first).hits).toBe(0);
    const second = await embed(['three', 'one', 'three']);
    expect(rows(second)).toEqual(expected(['three', 'one', 'three']));
    expect(second.tokens).toEqual([6, 4, 6]);
    expect(second.hits).toBe(3);
    await settlePromises();
    expect(calls).toHaveLength(1);
  });

  test('only the new texts of a mixed batch are sent, in one call, and the order is kept', async () => {
    const { calls, embed } = setUp();
    const first = embed(['b', 'd']);
    await settlePromises();
    calls[0]?.answer();
    await first;
    const texts = ['a', 'b', 'c', 'd', 'e', 'a'];
    const mixed = embed(texts);
    await settlePromises();
    expect(calls[1]?.texts).toEqual(['a', 'c', 'e']);
    calls[1]?.answer();
    const reply = await mixed;
    expect(rows(reply)).toEqual(expected(texts));
    expect(reply.tokens).toEqual(texts.map(tokensOf));
    expect(reply.hits).toBe(3);
  });

  test('another task type, model or revision has another vector', async () => {
    const { calls, embed } = setUp();
    void embed(['text']);
    void embed(['text'], { taskType: 'clustering' });
    void embed(['text'], { model: testModel('my/other') });
    void embed(['text'], { model: { ...model, revision: '2' } });
    await settlePromises();
    expect(calls).toHaveLength(4);
  });

  test('a caller that changes its reply does not change the next one', async () => {
    const { calls, embed } = setUp();
    const first = embed(['text']);
    const joined = embed(['text']);
    await settlePromises();
    calls[0]?.answer();
    (await first).vectors.fill(Number.NaN);
    expect(rows(await joined)).toEqual(expected(['text']));
    (await joined).vectors.fill(Number.NaN);
    expect(rows(await embed(['text']))).toEqual(expected(['text']));
  });

  test('with a cache of 0 bytes nothing is stored, but a text in progress is still shared', async () => {
    const { calls, embed, vectors } = setUp(0);
    const both = [embed(['text']), embed(['text'])];
    await settlePromises();
    expect(calls).toHaveLength(1);
    calls[0]?.answer();
    await Promise.all(both);
    void embed(['text']);
    await settlePromises();
    expect(calls).toHaveLength(2);
    expect(vectors.stats()).toMatchObject({ memoryBytes: 0, memoryEntries: 0 });
  });

  test('a failure is not cached', async () => {
    const { calls, embed } = setUp();
    const first = embed(['text']);
    await settlePromises();
    calls[0]?.fail(unavailable());
    await expect(first).rejects.toMatchObject({ code: 'provider_unavailable' });
    const second = embed(['text']);
    await settlePromises();
    calls[1]?.answer();
    expect(rows(await second)).toEqual(expected(['text']));
  });

  test('a reply of an unexpected shape is an error and is not cached', async () => {
    const { embed, vectors } = setUp();
    const short = { vectors: new Float32Array(7), tokens: [1, 1] };
    const provider = { name: 'short', embed: async () => short, async close() {} };
    await expect(embed(['a', 'b'], { provider })).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(vectors.stats()).toMatchObject({ memoryEntries: 0, textsInFlight: 0 });
  });

  test('tokens are counted only for texts that are sent', async () => {
    const { calls, embed } = setUp();
    const counted: string[] = [];
    const count = (texts: readonly string[]) => {
      counted.push(...texts);
      return texts.map(tokensOf);
    };
    const first = embed(['a', 'a', 'b'], { count });
    const joined = embed(['b'], { count });
    await settlePromises();
    calls[0]?.answer();
    await Promise.all([first, joined, embed(['a'], { count })]);
    expect(counted).toEqual(['a', 'b']);
  });
});

describe('calls in progress', () => {
  test('identical texts share one call, across requests and within one', async () => {
    const { calls, embed } = setUp();
    const requests = [embed(['a', 'b', 'a']), embed(['b', 'c', 'a']), embed(['c'])];
    await settlePromises();
    expect(calls.map((call) => call.texts)).toEqual([['a', 'b'], ['c']]);
    for (const call of calls) call.answer();
    const replies = await Promise.all(requests);
    expect(replies.map(rows)).toEqual([expected(['a', 'b', 'a']), expected(['b', 'c', 'a']), expected(['c'])]);
    expect(replies.map((reply) => reply.hits)).toEqual([1, 2, 1]);
  });

  test('an aborted request that made a call does not fail the requests that joined it', async () => {
    const { calls, embed } = setUp();
    const leaving = new AbortController();
    const first = embed(['a', 'b'], { signal: leaving.signal });
    const joined = embed(['b']);
    const reason = new Error('client gone');
    leaving.abort(reason);
    await expect(first).rejects.toBe(reason);
    await settlePromises();
    expect(calls[0]?.signal.aborted).toBe(false);
    calls[0]?.answer();
    expect(rows(await joined)).toEqual(expected(['b']));
  });

  test('an aborted request that joined a call does not abort the call', async () => {
    const { calls, embed } = setUp();
    const leaving = new AbortController();
    const first = embed(['a']);
    const joined = embed(['a'], { signal: leaving.signal });
    leaving.abort(new Error('client gone'));
    await expect(joined).rejects.toThrow('client gone');
    await settlePromises();
    calls[0]?.answer();
    expect(rows(await first)).toEqual(expected(['a']));
  });

  test('a call is aborted once no request waits for any of its texts, and no request joins it any more', async () => {
    const { calls, embed, vectors } = setUp();
    const leaving = [new AbortController(), new AbortController()] as const;
    const first = embed(['a', 'b'], { signal: leaving[0].signal });
    const joined = embed(['b'], { signal: leaving[1].signal });
    leaving[0].abort(new Error('first gone'));
    await settlePromises();
    expect(calls[0]?.signal.aborted).toBe(false);
    leaving[1].abort(new Error('second gone'));
    expect(calls[0]?.signal.aborted).toBe(true);
    expect(vectors.stats().textsInFlight).toBe(0);
    const next = embed(['b']);
    await settlePromises();
    calls[1]?.answer();
    expect(rows(await next)).toEqual(expected(['b']));
    await expect(first).rejects.toThrow('first gone');
    await expect(joined).rejects.toThrow('second gone');
  });

  test('an aborted request that waits for two calls leaves both', async () => {
    const { calls, embed } = setUp();
    const others = new AbortController();
    const mine = new AbortController();
    const first = embed(['a'], { signal: others.signal });
    const second = embed(['a', 'b'], { signal: mine.signal });
    others.abort(new Error('first gone'));
    await settlePromises();
    expect(calls.map((call) => call.signal.aborted)).toEqual([false, false]);
    mine.abort(new Error('second gone'));
    expect(calls.map((call) => call.signal.aborted)).toEqual([true, true]);
    await expect(first).rejects.toThrow('first gone');
    await expect(second).rejects.toThrow('second gone');
  });

  test('a request that fails leaves the other calls that it waits for', async () => {
    const { calls, embed } = setUp();
    const others = new AbortController();
    const first = embed(['a'], { signal: others.signal });
    const second = embed(['a', 'b']);
    others.abort(new Error('first gone'));
    await settlePromises();
    calls[1]?.fail(unavailable());
    await expect(second).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(calls[0]?.signal.aborted).toBe(true);
    await expect(first).rejects.toThrow('first gone');
  });

  test('an aborted request is refused before any work is done', async () => {
    const { calls, embed } = setUp();
    await expect(embed(['a'], { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late');
    await settlePromises();
    expect(calls).toHaveLength(0);
  });

  test('a provider that cannot be reached fails every request that waits', async () => {
    const { calls, embed } = setUp();
    const requests = [embed(['a', 'b']), embed(['b'])];
    await settlePromises();
    calls[0]?.fail(unavailable());
    for (const request of requests) await expect(request).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(calls).toHaveLength(1);
  });

  test('a refused text does not fail the requests that joined the call without it', async () => {
    const { calls, embed } = setUp();
    const first = embed(['bad', 'good']);
    const joined = [embed(['good']), embed(['good'])];
    await settlePromises();
    calls[0]?.answer();
    await expect(first).rejects.toMatchObject({ code: 'upstream_rejected' });
    await settlePromises();
    expect(calls.map((call) => call.texts)).toEqual([['bad', 'good'], ['good']]);
    calls[1]?.answer();
    for (const request of joined) expect(rows(await request)).toEqual(expected(['good']));
  });

  test('a request that joined a refused call and has the refused text is refused by a call of its own', async () => {
    const { calls, embed } = setUp();
    const first = embed(['bad', 'x']);
    const joined = embed(['bad', 'good']);
    await settlePromises();
    for (const call of calls) call.answer();
    await expect(first).rejects.toMatchObject({ code: 'upstream_rejected' });
    await settlePromises();
    expect(calls.map((call) => call.texts)).toEqual([['bad', 'x'], ['good'], ['bad']]);
    calls[2]?.answer();
    await expect(joined).rejects.toMatchObject({ code: 'upstream_rejected' });
  });

  test('a refused call that carries only texts of the request is not sent again', async () => {
    const { calls, embed } = setUp();
    const requests = [embed(['bad']), embed(['bad']), embed(['bad', 'good'])];
    await settlePromises();
    for (const call of calls) call.answer();
    for (const request of requests) await expect(request).rejects.toMatchObject({ code: 'upstream_rejected' });
    expect(calls.map((call) => call.texts)).toEqual([['bad'], ['good']]);
  });

  test('a request that a foreign text failed does not join another call with foreign texts', async () => {
    const { calls, embed } = setUp();
    const first = embed(['bad', 'good', 'x']);
    const bad = embed(['bad', 'good']);
    const good = embed(['good']);
    await settlePromises();
    calls[0]?.answer();
    await settlePromises();
    expect(calls.map((call) => call.texts)).toEqual([['bad', 'good', 'x'], ['bad', 'good'], ['good']]);
    for (const call of calls) call.answer();
    for (const request of [first, bad]) await expect(request).rejects.toMatchObject({ code: 'upstream_rejected' });
    expect(rows(await good)).toEqual(expected(['good']));
  });

  test('a request that is aborted while its call begins does not wait for it', async () => {
    const { calls, embed } = setUp();
    const leaving = new AbortController();
    const count = (texts: readonly string[]) => {
      leaving.abort(new Error('too late'));
      return texts.map(tokensOf);
    };
    await expect(embed(['a'], { signal: leaving.signal, count })).rejects.toThrow('too late');
    expect(calls).toHaveLength(0);
  });

  test('a request that meters exact counts does not join a call with the vendor’s tokens', async () => {
    const { calls, embed } = setUp();
    const first = embed(['a'], { takesVendorTokens: true });
    await settlePromises();
    const second = embed(['a']);
    await settlePromises();
    expect(calls).toHaveLength(2);
    const third = embed(['a'], { takesVendorTokens: true });
    await settlePromises();
    expect(calls).toHaveLength(2);
    for (const call of calls) call.answer();
    await Promise.all([first, second, third]);
  });

  test('an initiator that is aborted while its tokens are counted does not fail the requests that joined', async () => {
    const { calls, embed } = setUp();
    const leaving = new AbortController();
    const count = () =>
      new Promise<number[]>((_, reject) => {
        leaving.signal.addEventListener('abort', () => reject(leaving.signal.reason));
      });
    const first = embed(['a'], { signal: leaving.signal, count });
    const joined = embed(['a']);
    leaving.abort(new Error('client gone'));
    await expect(first).rejects.toThrow('client gone');
    await settlePromises();
    expect(calls).toHaveLength(1);
    calls[0]?.answer();
    expect(rows(await joined)).toEqual(expected(['a']));
  });
});

test('closing fails and aborts the calls in progress, and later requests are refused', async () => {
  const { calls, embed, vectors } = setUp();
  const requests = [embed(['a']), embed(['a', 'b'])];
  await vectors.close();
  for (const request of requests) await expect(request).rejects.toMatchObject({ code: 'shutting_down', status: 503 });
  await settlePromises();
  expect(calls.every((call) => call.signal.aborted)).toBe(true);
  await expect(embed(['c'])).rejects.toMatchObject({ code: 'shutting_down' });
});

test('hits and misses of the caches are counted by layer, and the bytes of the memory cache are a metric', async () => {
  const { calls, embed, registry, vectors } = setUp();
  const requests = [embed(['a', 'b', 'a']), embed(['b'])];
  await settlePromises();
  calls[0]?.answer();
  await Promise.all([...requests]);
  await embed(['a']);
  const metrics = await registry.metrics();
  for (const line of [
    'service_embedding_cache_texts_total{layer="memory",outcome="hit"} 1',
    'service_embedding_cache_texts_total{layer="memory",outcome="miss"} 4',
    'service_embedding_cache_texts_total{layer="in_flight",outcome="hit"} 2',
    'service_embedding_cache_texts_total{layer="in_flight",outcome="miss"} 2',
    `service_embedding_cache_bytes ${vectors.stats().memoryBytes}`,
  ]) {
    expect(metrics).toContain(line);
  }
});
