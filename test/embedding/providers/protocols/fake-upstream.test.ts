import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openai } from '../../../../src/embedding/providers/protocols/openai.ts';
import { protocolOf } from '../../../../src/embedding/providers/protocols/protocol-of.ts';
import { PROTOCOLS } from '../../../../src/embedding/providers/provider.ts';
import { Secret } from '../../../../src/platform/secret.ts';
import { FakeUpstream } from '../../../support/fake-upstream.ts';
import { until } from '../../../support/until.ts';
import { bodyOf, callOf, send } from './send.ts';

describe('the fake upstream', () => {
  let fake: FakeUpstream;

  beforeEach(async () => {
    fake = await FakeUpstream.start();
  });
  afterEach(() => fake.close());

  function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(fake.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  }

  it.each(PROTOCOLS)('the fake upstream refuses an unknown field of %s and records it', async (name) => {
    const request = protocolOf(name).request(callOf());
    const body = JSON.stringify({ ...(bodyOf(request) as object), user: 'x' });
    const reply = await send(fake.baseUrl(name), { ...request, body });
    expect(reply.status).toBe(400);
    expect(fake.violations).toEqual([expect.stringContaining('user')]);
    expect(fake.calls).toEqual([]);
  });

  it.each([
    ['voyage', { input: ['x'], model: 'm', encoding_format: 'float' }],
    ['voyage', { input: ['x'], model: 'm', dimensions: 8 }],
    ['jina', { input: ['x'], model: 'm', encoding_format: 'base64' }],
    ['cohere', { model: 'm', texts: ['x'], embedding_types: ['float'] }],
    ['openai', { input: ['x'], model: 'm', dimensions: '8' }],
    ['openai', { input: 'x', model: 'm' }],
    ['openai', { input: [], model: 'm' }],
    ['tei', { inputs: ['x'], dimensions: 8 }],
    ['ollama', { model: 'm', prompt: 'x' }],
  ] as const)('refuses what %s does not know: %j', async (name, body) => {
    const { path } = protocolOf(name).request(callOf());
    expect((await post(new URL(fake.baseUrl(name)).pathname + path, JSON.stringify(body))).status).toBe(400);
    expect(fake.violations).toHaveLength(1);
  });

  it('the fake upstream refuses two parts in one content of Gemini, which would become one vector', async () => {
    const content = { parts: [{ text: 'a' }, { text: 'b' }] };
    const body = JSON.stringify({ requests: [{ model: 'models/m', content }] });
    expect((await post('/gemini/v1beta/models/m:batchEmbedContents', body)).status).toBe(400);
  });

  it('the fake upstream refuses a wrong path, method, content type, query and bad UTF-8', async () => {
    const body = JSON.stringify({ input: ['x'], model: 'm' });
    expect((await post('/openai/v1/embedding', body)).status).toBe(404);
    expect((await post('/openai/v1/embeddings?key=x', body)).status).toBe(404);
    expect((await post('/elsewhere', body)).status).toBe(404);
    expect((await fetch(`${fake.url}/openai/v1/embeddings`)).status).toBe(400);
    expect((await post('/openai/v1/embeddings', body, { 'content-type': 'text/plain' })).status).toBe(400);
    const broken = await fetch(`${fake.url}/openai/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(body.replace('x', '\xff'), 'latin1'),
    });
    expect(broken.status).toBe(400);
    expect(fake.violations).toHaveLength(6);
  });

  it('the fake upstream accepts a credential only in the right header', async () => {
    await fake.close();
    fake = await FakeUpstream.start({ apiKeys: ['good'] });
    for (const name of PROTOCOLS) {
      const { request, faultOf } = protocolOf(name);
      const none = await send(fake.baseUrl(name), request(callOf()));
      const bad = await send(fake.baseUrl(name), request(callOf({ apiKey: new Secret('bad') })));
      const good = await send(fake.baseUrl(name), request(callOf({ apiKey: new Secret('good') })));
      expect([none, bad].map((reply) => faultOf(reply.status, reply.headers, reply.body).kind)).toEqual([
        'refused',
        'refused',
      ]);
      expect(good.status).toBe(200);
    }
    expect(fake.calls.map((call) => call.apiKey)).toEqual(PROTOCOLS.map(() => 'good'));
    expect(JSON.stringify(fake.calls.map((call) => call.headers))).not.toContain('good');
    expect(fake.violations).toEqual([]);
  });

  it('the fake upstream answers once with a status, then normally', async () => {
    fake.next({ kind: 'status', status: 503, body: 'busy', headers: { 'retry-after': '1' } });
    const first = await send(fake.baseUrl('openai'), openai.request(callOf()));
    expect(first).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect((await send(fake.baseUrl('openai'), openai.request(callOf()))).status).toBe(200);
  });

  it('the fake upstream resets the connection before an answer and in the middle of one', async () => {
    fake.next({ kind: 'reset' }, { kind: 'reset-mid-body' });
    await expect(send(fake.baseUrl('openai'), openai.request(callOf()))).rejects.toThrow();
    await expect(send(fake.baseUrl('openai'), openai.request(callOf()))).rejects.toThrow();
    expect(fake.calls).toHaveLength(2);
  });

  it('the fake upstream stalls before an answer and in the middle of one, and detects closed connections', async () => {
    for (const kind of ['stall', 'stall-mid-body'] as const) {
      fake.next({ kind });
      const abort = new AbortController();
      const pending = send(fake.baseUrl('openai'), openai.request(callOf()), abort.signal).catch(() => 'aborted');
      const seen = fake.calls.length;
      const call = await until(async () => fake.calls[seen]);
      abort.abort();
      expect(await pending).toBe('aborted');
      await until(async () => call.aborted);
    }
  });

  it('the fake upstream streams a huge body as long as it is read', async () => {
    fake.next({ kind: 'huge', bytes: 3_000_000 }, { kind: 'huge', bytes: 1e12 });
    const whole = await send(fake.baseUrl('openai'), openai.request(callOf()));
    expect(whole.body.byteLength).toBe(3_000_000);
    const endless = await post('/openai/v1/embeddings', JSON.stringify({ input: ['x'], model: 'm' }));
    await endless.body?.cancel();
    await until(async () => fake.calls[1]?.aborted);
  });

  it('the fake upstream counts calls in progress, and a test can decide by the request', async () => {
    fake.decide = (call) => (call.texts.includes('bad') ? { kind: 'status', status: 400 } : { kind: 'stall' });
    expect((await send(fake.baseUrl('openai'), openai.request(callOf({ texts: ['bad'] })))).status).toBe(400);
    const abort = new AbortController();
    const pending = Array.from({ length: 3 }, () =>
      send(fake.baseUrl('openai'), openai.request(callOf()), abort.signal).catch(() => 'aborted'),
    );
    await until(async () => fake.concurrencySeen === 3, { what: 'three calls in progress' });
    abort.abort();
    expect(await Promise.all(pending)).toEqual(['aborted', 'aborted', 'aborted']);
  });
});

describe('the upstream for benchmarks', () => {
  it.each(['base64', 'float'] as const)(
    'the upstream for benchmarks runs in a separate process and answers in %s',
    async (format) => {
      const main = fileURLToPath(new URL('../../../support/fake-upstream/main.ts', import.meta.url));
      const child = spawn(process.execPath, [main, '--format', format, '--delay-ms', '1'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const { url } = JSON.parse(line.toString()) as { url: string };
      const reply = await send(url, openai.request(callOf({ dimensions: 16 })));
      expect(openai.parse(reply, { count: 2, dimensions: 16 })).toMatchObject({ tokens: 20 });
      expect(Buffer.from(reply.body).toString().includes('"embedding":"')).toBe(format === 'base64');
      child.stdin.end();
      const [code] = (await once(child, 'exit')) as [number];
      expect(code).toBe(0);
    },
  );
});
