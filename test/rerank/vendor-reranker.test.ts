import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openLogger } from '../../src/platform/logger.ts';
import { embeddingConfigOf, embeddingSettings } from '../../src/platform/provider-settings.ts';
import { runForOrganization } from '../../src/platform/work-context.ts';
import { checkRerankSettings } from '../../src/rerank/open-rerankers.ts';
import type { Reranker } from '../../src/rerank/reranker.ts';
import { VendorReranker } from '../../src/rerank/vendor-reranker.ts';
import { type FakeReranker, stall, startFakeReranker } from '../support/fake-reranker.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Protocol = 'cohere' | 'jina' | 'voyage' | 'tei';

async function open(protocol: Protocol, more: object = {}): Promise<{ fake: FakeReranker; reranker: Reranker }> {
  const fake = await startFakeReranker(protocol);
  const file = z.object(embeddingSettings).parse({
    rerank: { protocol, base_url: fake.url, model: 'ranker', api_key: 'canary-key', timeout_seconds: 0.5, ...more },
  });
  const settings = embeddingConfigOf(file).rerank;
  if (settings?.kind !== 'remote') throw new Error('no settings');
  const reranker = new VendorReranker(settings, { logger: openLogger('silent') });
  closing.push(() => reranker.close(), fake.close);
  return { fake, reranker };
}

const TEXTS = ['a long text about ferries', 'ferry', 'some words'];
const answer =
  (body: unknown, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));

describe.each(['cohere', 'jina', 'voyage', 'tei'] as const)('the protocol %s', (protocol) => {
  it('a reranker gets the fields of its protocol, and its scores come back in the order of the texts', async () => {
    const { fake, reranker } = await open(protocol);
    const { scores } = await reranker.score({ query: 'ferry', texts: TEXTS }, undefined);
    expect(scores).toEqual(TEXTS.map((text) => 1 / (1 + text.length)));
    expect(fake.calls).toMatchObject([{ query: 'ferry', texts: TEXTS, authorization: 'Bearer canary-key' }]);
  });

  it('a reranker that is down, late or gives a wrong answer is a typed error without its answer or the key', async () => {
    const { fake, reranker } = await open(protocol, { timeout_seconds: 0.2 });
    const key = protocol === 'tei' ? 'score' : 'relevance_score';
    const wrap = (list: unknown) =>
      protocol === 'tei' ? list : protocol === 'voyage' ? { data: list } : { results: list };
    const faults: FakeReranker['misbehave'][] = [
      answer('<html>canary-key</html>'),
      answer({}, 500),
      answer(wrap([{ index: 0, [key]: 1 }])),
    ];
    for (const misbehave of [...faults, stall]) {
      fake.misbehave = misbehave;
      const failure = await reranker.score({ query: 'q', texts: TEXTS }, undefined).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'provider_unavailable' });
      expect(String(failure)).not.toContain('canary-key');
    }
  });

  it('an impossible index or score in an answer is refused', async () => {
    const { fake, reranker } = await open(protocol);
    const key = protocol === 'tei' ? 'score' : 'relevance_score';
    const wrap = (list: unknown) =>
      protocol === 'tei' ? list : protocol === 'voyage' ? { data: list } : { results: list };
    const item = (index: unknown, score: unknown) => ({ index, [key]: score });
    const lists = [
      [item(0, 1), item(0, 1)],
      [item(0, 1), item(2, 1)],
      [item(0, 1), item(-1, 1)],
      [item(0, 1), item(1, 'NaN')],
      [item(0, 1), item(1, null)],
    ];
    for (const [n, list] of lists.entries()) {
      fake.misbehave = answer(wrap(list));
      // The breaker opens after five failures in a row.
      if (n < 4)
        await expect(reranker.score({ query: 'q', texts: ['a', 'b'] }, undefined)).rejects.toThrow('invalid_answer');
    }
    fake.misbehave = answer(wrap([item(1, 7), item(0, -3)]));
    expect((await reranker.score({ query: 'q', texts: ['a', 'b'] }, undefined)).scores).toEqual([-3, 7]);
  });
});

describe('a reranker', () => {
  it('texts are split into calls of the size that the server of the reranker accepts', async () => {
    const { fake, reranker } = await open('tei');
    const texts = Array.from({ length: 70 }, (_, index) => 'x'.repeat(index + 1));
    expect((await reranker.score({ query: 'q', texts }, undefined)).scores).toEqual(
      texts.map((text) => 1 / (1 + text.length)),
    );
    expect(fake.calls.map((call) => call.texts.length).sort((a, b) => a - b)).toEqual([6, 32, 32]);
  });

  it('a reranker that keeps failing is not called for a while', async () => {
    const { fake, reranker } = await open('jina');
    fake.misbehave = answer({}, 503);
    for (let n = 0; n < 5; n++)
      await expect(reranker.score({ query: 'q', texts: ['a'] }, undefined)).rejects.toThrow('http_503');
    await expect(reranker.score({ query: 'q', texts: ['a'] }, undefined)).rejects.toThrow('breaker_open');
    expect(fake.calls).toHaveLength(5);
  });

  it('a failed call is repeated only as often as the task asks', async () => {
    const { fake, reranker } = await open('jina', { timeout_seconds: 30 });
    fake.misbehave = (response) => {
      fake.misbehave = null;
      response.writeHead(503).end();
    };
    expect((await reranker.score({ query: 'q', texts: ['a'], retriesMax: 1 }, undefined)).scores).toEqual([1 / 2]);
    expect(fake.calls).toHaveLength(2);
    fake.misbehave = answer({}, 503);
    await expect(reranker.score({ query: 'q', texts: ['a'] }, undefined)).rejects.toThrow('http_503');
    expect(fake.calls).toHaveLength(3);
  });

  it('texts that the vendor refuses are not sent again', async () => {
    const { fake, reranker } = await open('voyage');
    fake.misbehave = answer({ detail: 'too long' }, 400);
    const refused = reranker.score({ query: 'q', texts: ['a'], retriesMax: 3 }, undefined);
    await expect(refused).rejects.toMatchObject({ code: 'upstream_rejected', status: 400 });
    expect(fake.calls).toHaveLength(1);
  });

  it('organizations take turns on the calls of a reranker', async () => {
    const { fake, reranker } = await open('tei', { concurrency_max: 1, items_max: 1, timeout_seconds: 30 });
    const score = (org: string, texts: readonly string[]) =>
      runForOrganization(org, () => reranker.score({ query: 'q', texts }, undefined));
    const many = score('one', ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
    await Promise.all([many, score('two', ['b1', 'b2'])]);
    expect(fake.calls.map(({ texts }) => texts[0])).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a5', 'a6']);
  });

  it('an aborted caller does not wait for the reranker', async () => {
    const { fake, reranker } = await open('cohere');
    fake.misbehave = stall;
    const abort = new AbortController();
    const waiting = reranker.score({ query: 'q', texts: ['a'] }, abort.signal);
    abort.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });

  it('settings of a reranker need a model if its protocol has one', () => {
    const parse = (rerank: object) => z.object(embeddingSettings).safeParse({ rerank });
    expect(parse({ protocol: 'cohere', base_url: 'http://x' }).error?.issues[0]?.path).toEqual(['rerank', 'model']);
    expect(parse({ protocol: 'tei', base_url: 'http://x' }).success).toBe(true);
  });
});

it('two rerankers of one name are an error of the settings', () => {
  const configOf = (rerankers: object[]) =>
    embeddingConfigOf(z.object(embeddingSettings).parse({ rerank: { model: 'local/one' }, rerankers }));
  const remote = { protocol: 'tei', base_url: 'http://x' };
  expect(() => checkRerankSettings(configOf([remote, { ...remote, model: 'b' }]))).not.toThrow();
  expect(() => checkRerankSettings(configOf([remote, remote]))).toThrow('two rerankers have the name tei');
  expect(() => checkRerankSettings(configOf([{ model: 'local/one' }]))).toThrow(
    'two rerankers have the name local/one',
  );
});
