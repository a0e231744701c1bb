import { afterAll, describe, expect, it } from 'vitest';
import { isQuick, parseOn, parseReply } from '../../../../src/embedding/providers/protocols/parse-reply.ts';
import { openThreads, type Threads } from '../../../../src/platform/threads.ts';
import { UpstreamFault } from '../../../../src/platform/upstream/upstream-fault.ts';
import { base64Of, vectorOf } from '../../../support/fake-upstream/vectors.ts';

const DIMENSIONS = 512;

function vector(at: number): Float32Array {
  return vectorOf('m', `t${at}`, DIMENSIONS);
}

function openaiBody(count: number, base64: boolean, spaced = false): Uint8Array<ArrayBuffer> {
  const data = Array.from({ length: count }, (_, index) => {
    return { index, embedding: base64 ? base64Of(vector(index)) : Array.from(vector(index)) };
  });
  return new TextEncoder().encode(JSON.stringify({ data, usage: { prompt_tokens: 9 } }, null, spaced ? 1 : 0));
}

function rows(count: number): Float32Array {
  return Float32Array.from(Array.from({ length: count }, (_, at) => [...vector(at)]).flat());
}

describe('reading an answer', () => {
  const real = openThreads();
  afterAll(() => real.close());

  /** Thread pool that counts its tasks. */
  let sent = 0;
  const threads: Threads = {
    run: (...call) => {
      sent += 1;
      return real.run(...call);
    },
    close: () => real.close(),
  };

  it('base64 is parsed inline and many numbers on a thread, with the same result', async () => {
    const reply = { protocol: 'openai', headers: {}, count: 100, dimensions: DIMENSIONS } as const;
    const before = sent;
    const here = await parseOn(threads, { ...reply, body: openaiBody(100, true) });
    expect(sent - before).toBe(0);
    const there = await parseOn(threads, { ...reply, body: openaiBody(100, false) });
    expect(sent - before).toBe(1);
    expect(here).toEqual({ vectors: rows(100), tokens: 9 });
    expect(there).toEqual(here);
  });

  it('the body is transferred to the thread, but never memory that others share', async () => {
    const bytes = openaiBody(100, false);
    const reply = { protocol: 'openai', headers: {}, count: 100, dimensions: DIMENSIONS } as const;
    const larger = new Uint8Array(bytes.length + 64);
    larger.set(bytes, 32);
    await parseOn(threads, { ...reply, body: larger.subarray(32, 32 + bytes.length) });
    expect(larger.byteLength).toBe(bytes.length + 64);
    await parseOn(threads, { ...reply, body: bytes });
    expect(bytes.byteLength).toBe(0);
  });

  it('a fault on the thread is rethrown with its fields', async () => {
    const reply = {
      protocol: 'openai',
      headers: {},
      body: openaiBody(100, false),
      count: 99,
      dimensions: DIMENSIONS,
    } as const;
    const failure = await parseOn(threads, reply).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UpstreamFault);
    expect(failure).toMatchObject({ kind: 'transient', code: 'wrong_count', message: expect.stringContaining('100') });
  });

  it('a fault of a small answer is thrown, too', async () => {
    const reply = { protocol: 'gemini', headers: {}, body: new Uint8Array(0), count: 1, dimensions: 8 } as const;
    await expect(parseOn(threads, reply)).rejects.toBeInstanceOf(UpstreamFault);
    expect(parseReply(reply)).toMatchObject({ fault: { kind: 'transient', code: 'bad_json' } });
  });

  it('a token count in a header is returned', async () => {
    const body = new TextEncoder().encode(
      JSON.stringify(Array.from({ length: 100 }, (_, at) => Array.from(vector(at)))),
    );
    const headers = { 'x-compute-tokens': '77' };
    const before = sent;
    const parsed = await parseOn(threads, { protocol: 'tei', headers, body, count: 100, dimensions: DIMENSIONS });
    expect(sent - before).toBe(1);
    expect(parsed).toEqual({ vectors: rows(100), tokens: 77 });
  });

  it('parsing on a thread rejects with the signal’s reason once it is aborted', async () => {
    const reply = {
      protocol: 'openai',
      headers: {},
      body: openaiBody(100, false),
      count: 100,
      dimensions: DIMENSIONS,
    } as const;
    const abort = new AbortController();
    const pending = parseOn(threads, reply, abort.signal);
    const reason = new Error('deadline');
    abort.abort(reason);
    await expect(pending).rejects.toBe(reason);
  });

  it.each<[string, boolean, Parameters<typeof isQuick>[0]]>([
    ['a short answer of numbers', true, { protocol: 'cohere', body: new Uint8Array(200_000) }],
    ['a long answer of numbers', false, { protocol: 'cohere', body: new Uint8Array(200_001) }],
    ['base64', true, { protocol: 'voyage', body: openaiBody(100, true) }],
    ['base64 with spaces', true, { protocol: 'jina', body: openaiBody(100, true, true) }],
    ['numbers where base64 was asked for', false, { protocol: 'openai', body: openaiBody(100, false) }],
    ['very much base64', false, { protocol: 'openai', body: openaiBody(1000, true) }],
  ])('%s is parsed inline: %s', (_what, isInline, reply) => {
    expect(isQuick(reply)).toBe(isInline);
  });
});
