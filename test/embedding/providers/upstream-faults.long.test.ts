import { describe, expect, it } from 'vitest';
import { PROTOCOLS, type ProtocolName } from '../../../src/embedding/providers/provider.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { WIRE } from '../../support/fake-upstream/protocols.ts';
import type { Behaviour } from '../../support/fake-upstream.ts';
import {
  callOf,
  DIMENSIONS,
  multiTextModelOf,
  rowsOf,
  settingsOf,
  startProvider,
  startUpstream,
} from './provider-under-test.ts';

const TEXTS = ['one', 'two', 'three'];
const INDEXED = new Set<ProtocolName>(PROTOCOLS.filter((name) => WIRE[name].indexed));

/** Faults that last, with the cause of the resulting error. */
const LASTING: readonly (readonly [title: string, behaviour: Behaviour, cause: string])[] = [
  ['429 with Retry-After', { kind: 'status', status: 429, headers: { 'retry-after': '0' } }, 'http_429'],
  ['500', { kind: 'status', status: 500, body: 'broken' }, 'http_500'],
  ['503 in HTML', { kind: 'status', status: 503, body: '<html>down</html>' }, 'http_503'],
  ['a connection cut before the answer', { kind: 'reset' }, 'connection'],
  ['a connection cut in the answer', { kind: 'reset-mid-body' }, 'connection'],
  ['silence', { kind: 'stall' }, 'timeout'],
  ['silence in the middle of the answer', { kind: 'stall-mid-body' }, 'timeout'],
  ['HTML with 200', { kind: 'html' }, 'invalid_answer'],
  ['an empty 200', { kind: 'empty' }, 'invalid_answer'],
  ['half of the JSON', { kind: 'truncated-json' }, 'invalid_answer'],
  ['too few vectors', { kind: 'too-few' }, 'invalid_answer'],
  ['too many vectors', { kind: 'too-many' }, 'invalid_answer'],
  ['a vector that is too short', { kind: 'wrong-length' }, 'invalid_answer'],
  ['NaN', { kind: 'nan' }, 'invalid_answer'],
  ['zeros', { kind: 'zeros' }, 'invalid_answer'],
  ['1 GB', { kind: 'huge', bytes: 1_000_000_000 }, 'invalid_answer'],
];
const LASTING_INDEXED: typeof LASTING = [
  ['an index twice', { kind: 'duplicate-index' }, 'invalid_answer'],
  ['an index out of range', { kind: 'bad-index' }, 'invalid_answer'],
];

/** Measure the growth of the process's memory from now on. */
function watchMemory(): { stop(): number } {
  const beforeBytes = process.memoryUsage.rss();
  let peakBytes = beforeBytes;
  const measure = () => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  };
  const timer = setInterval(measure, 5);
  return {
    stop() {
      clearInterval(timer);
      measure();
      return peakBytes - beforeBytes;
    },
  };
}

describe.each(PROTOCOLS)('a bad upstream of the protocol %s', (protocol) => {
  const faults = INDEXED.has(protocol) ? [...LASTING, ...LASTING_INDEXED] : LASTING;

  it.each(faults)(
    'a lasting fault (%s) gives a typed error after bounded attempts, with little memory',
    async (_title, behaviour, cause) => {
      const upstream = await startUpstream();
      upstream.decide = () => behaviour;
      const settings = settingsOf(protocol, upstream.baseUrl(protocol), cause === 'timeout' ? { timeoutMs: 100 } : {});
      const outcomes: string[] = [];
      const metrics = { attempted: (_name: string, outcome: string) => outcomes.push(outcome), watch: () => () => {} };
      const { provider } = startProvider(settings, { metrics });
      const memory = watchMemory();
      const error = await provider
        .embed(callOf(TEXTS, { model: multiTextModelOf(protocol) }))
        .catch((reason: unknown) => reason);
      const grownBytes = memory.stop();
      expect(error).toBeInstanceOf(AppError);
      expect(error).toMatchObject({
        code: 'provider_unavailable',
        status: 502,
        retryable: true,
        details: { provider: 'vendor-x', cause },
        message: expect.stringContaining('vendor-x'),
      });
      expect(outcomes).toEqual([cause, cause, cause]);
      expect(grownBytes).toBeLessThan(200_000_000);
    },
  );

  const brief = faults.filter(([, , cause]) => cause !== 'timeout');
  it.each(brief)('a single fault (%s) is cured by the next attempt', async (_title, behaviour) => {
    const upstream = await startUpstream();
    upstream.next(behaviour);
    const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol)));
    const { vectors } = await provider.embed(callOf(TEXTS, { model: multiTextModelOf(protocol) }));
    const model = upstream.calls[0]?.model ?? '';
    expect(rowsOf(vectors, 3)).toEqual(TEXTS.map((text) => Array.from(upstream.vectorOf(model, text))));
    expect(upstream.calls).toHaveLength(2);
    expect(upstream.violations).toEqual([]);
  });

  it('every text gets its own vector if the indexes are shuffled', async () => {
    const upstream = await startUpstream();
    upstream.next({ kind: 'shuffled' });
    const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol)));
    const { vectors } = await provider.embed(callOf(TEXTS, { model: multiTextModelOf(protocol) }));
    const model = upstream.calls[0]?.model ?? '';
    expect(rowsOf(vectors, 3)).toEqual(TEXTS.map((text) => Array.from(upstream.vectorOf(model, text))));
    expect(upstream.calls).toHaveLength(1);
  });

  it('a refused input is not retried and does not count for the breaker', async () => {
    const upstream = await startUpstream();
    upstream.decide = (call) =>
      call.texts.includes('bad') ? { kind: 'status', status: 400, body: { message: 'too long' } } : null;
    const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol)));
    for (let round = 0; round < 10; round++) {
      await expect(provider.embed(callOf(['bad']))).rejects.toMatchObject({ code: 'upstream_rejected', status: 400 });
    }
    expect(upstream.calls).toHaveLength(10);
    expect((await provider.embed(callOf(['good']))).vectors).toHaveLength(DIMENSIONS);
  });

  it('a refused key is not retried, and the endpoint is not called from then on', async () => {
    const upstream = await startUpstream();
    upstream.decide = () => ({ kind: 'status', status: 401 });
    const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol)));
    for (let round = 0; round < 3; round++) {
      await expect(provider.embed(callOf(['text']))).rejects.toMatchObject({
        code: 'provider_unavailable',
        details: { cause: 'refused' },
      });
    }
    expect(upstream.calls).toHaveLength(1);
  });

  it('an unknown model is not retried', async () => {
    const upstream = await startUpstream();
    upstream.decide = () => ({ kind: 'status', status: 404 });
    const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol)));
    await expect(provider.embed(callOf(['text']))).rejects.toMatchObject({ details: { cause: 'http_404' } });
    expect(upstream.calls).toHaveLength(1);
  });

  it('large answers are parsed on a thread, with their faults', async () => {
    const dimensions = 2048;
    const upstream = await startUpstream({ dimensions });
    const { provider } = startProvider(settingsOf(protocol, upstream.baseUrl(protocol), { retriesMax: 0 }));
    const model = multiTextModelOf(protocol, { nativeDimension: dimensions });
    const texts = Array.from({ length: 300 }, (_, index) => `text ${index}`);
    const { vectors } = await provider.embed(callOf(texts, { model }));
    const upstreamModel = upstream.calls[0]?.model ?? '';
    // Compared as bytes: element by element it takes longer than an idle connection is kept open.
    const wrong = texts.filter((text, row) => {
      const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
      return !bytesOf(vector).equals(bytesOf(upstream.vectorOf(upstreamModel, text)));
    });
    expect(wrong).toEqual([]);
    upstream.decide = () => ({ kind: 'nan' });
    await expect(provider.embed(callOf(texts, { model }))).rejects.toMatchObject({
      details: { cause: 'invalid_answer' },
    });
  });
});

function bytesOf(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}
