import { describe, expect, it, onTestFinished } from 'vitest';
import { BatchQueue } from '../../src/local-models/runtime/batch-queue.ts';
import { ModelRunner, type RunnerOptions } from '../../src/local-models/runtime/model-runner.ts';
import { argumentOf, DIMENSION } from '../support/local-models.ts';
import { keepLogs } from '../support/logs.ts';
import { unhandledRejections } from '../support/unhandled.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;
const WITHIN_MS = 120_000;
const task = (texts: readonly string[]) => ({ texts, query: null, isBackground: false });

function open(more: Partial<RunnerOptions> = {}): ModelRunner {
  const { logger } = keepLogs();
  const runner = new ModelRunner({ name: 'local/small', argument: argumentOf('bert'), idleMs: 0, logger, ...more });
  onTestFinished(() => runner.close());
  return runner;
}

const encoded = (...lengths: number[]) =>
  lengths.map((length, index) => ({
    index,
    text: { ids: Array.from({ length }, () => 5), secondFrom: Number.POSITIVE_INFINITY },
  }));
const lengthsOf = (queue: BatchQueue) => queue.take().map(({ requestId, text }) => `${requestId}:${text.ids.length}`);

describe('the process of a local model', () => {
  it('nothing is started before the first text, and a second text uses the same process', async () => {
    const runner = open();
    expect(runner.state).toMatchObject({ pid: null, residentBytes: 0, starts: 0 });
    expect(await runner.run(task(['one']), never)).toHaveLength(DIMENSION);
    const { pid } = runner.state;
    await runner.run(task(['two', 'three']), never);
    expect(runner.state).toMatchObject({ pid, starts: 1, deaths: 0, textsQueued: 0 });
    expect(runner.state.residentBytes).toBeGreaterThan(10_000_000);
  });

  it('it is unloaded when it is idle, and loaded again when it is needed', async () => {
    const runner = open({ idleMs: 50 });
    await runner.run(task(['one']), never);
    await until(async () => runner.state.pid === null, { withinMs: WITHIN_MS });
    await runner.run(task(['two']), never);
    expect(runner.state).toMatchObject({ starts: 2, deaths: 0 });
  });

  it('when it is killed, its texts fail with 503 and Retry-After, and the next ones start it again', async () => {
    const runner = open();
    await runner.run(task(['one']), never);
    const many = runner.run(task(Array.from({ length: 2000 }, (_, at) => `text ${at} `.repeat(20))), never);
    process.kill(runner.state.pid as number, 'SIGKILL');
    await expect(many).rejects.toMatchObject({ code: 'provider_unavailable', status: 503, retryAfterSeconds: 2 });
    expect(await runner.run(task(['again']), never)).toHaveLength(DIMENSION);
    expect(runner.state).toMatchObject({ starts: 2, deaths: 1, textsQueued: 0 });
  });

  it('when it hangs, it is ended, its texts fail with 503, and the next ones start it again', async () => {
    const runner = open({ silenceMs: 3_000 });
    await runner.run(task(['one']), never);
    const { pid } = runner.state;
    process.kill(pid as number, 'SIGSTOP');
    await expect(runner.run(task(['two']), never)).rejects.toMatchObject({
      ...{ code: 'provider_unavailable', status: 503 },
      cause: { message: expect.stringContaining('did not answer for 3 s') },
    });
    expect(() => process.kill(pid as number, 0)).toThrow('ESRCH');
    expect(await runner.run(task(['again']), never)).toHaveLength(DIMENSION);
    expect(runner.state).toMatchObject({ starts: 2, deaths: 1 });
  });

  it('a model that cannot be loaded is a typed error, and is not loaded again for each request', async () => {
    const runner = open({ argument: argumentOf('bert', { model: '/nowhere/model.onnx' }) });
    const failures = await Promise.allSettled([runner.run(task(['one']), never), runner.run(task(['two']), never)]);
    for (const failure of failures)
      expect(failure).toMatchObject({ reason: { code: 'provider_unavailable', status: 503 } });
    await expect(runner.run(task(['three']), never)).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(runner.state.starts).toBe(1);
  });

  it('a request that was aborted before it began leaves no rejection of a failed start unhandled', async () => {
    const unhandled = unhandledRejections();
    const runner = open({ argument: argumentOf('bert', { model: '/nowhere/model.onnx' }) });
    const left = AbortSignal.abort(new Error('the client left'));
    await expect(runner.run(task(['one']), left)).rejects.toThrow('the client left');
    await expect(runner.dimension(never)).rejects.toMatchObject({ code: 'provider_unavailable' });
    await expect(runner.dimension(left)).rejects.toThrow('the client left');
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  });

  it('a request that is aborted ends at once, and the others get their vectors', async () => {
    const runner = open();
    const abort = new AbortController();
    const aborted = runner.run(task(['a', 'b']), abort.signal);
    const other = runner.run(task(['c']), never);
    abort.abort(new Error('the client left'));
    await expect(aborted).rejects.toThrow('the client left');
    expect(await other).toHaveLength(DIMENSION);
  });

  it('more texts than may wait are refused with 503', async () => {
    const runner = open();
    const first = runner.run(task(Array.from({ length: 20_000 }, () => 'word')), never).catch(() => null);
    await expect(runner.run(task(['one more']), never)).rejects.toMatchObject({
      status: 503,
      details: { cause: 'overloaded' },
    });
    await runner.close();
    await first;
  });
});

describe('batches of a local model', () => {
  it('the longest texts come first, in batches of bounded tokens and similar length', () => {
    const queue = new BatchQueue(100);
    queue.add(1, encoded(10, 50, 45, 9, 40), false);
    expect(lengthsOf(queue)).toEqual(['1:50', '1:45']);
    expect(lengthsOf(queue)).toEqual(['1:40']);
    expect(lengthsOf(queue)).toEqual(['1:10', '1:9']);
    expect(queue.isEmpty).toBe(true);
    expect(queue.take()).toEqual([]);
  });

  it('a text longer than the bound is a batch of its own', () => {
    const queue = new BatchQueue(100);
    queue.add(1, encoded(300, 280), false);
    expect(lengthsOf(queue)).toEqual(['1:300']);
    expect(lengthsOf(queue)).toEqual(['1:280']);
  });

  it('requests come before background work, share batches and take turns', () => {
    const queue = new BatchQueue(60);
    queue.add(1, encoded(20, 20, 20, 20), true);
    queue.add(2, encoded(20, 20, 20, 20), false);
    queue.add(3, encoded(18), false);
    expect(lengthsOf(queue)).toEqual(['2:20', '2:20', '2:20']);
    expect(lengthsOf(queue)).toEqual(['3:18', '2:20']);
    expect(lengthsOf(queue)).toEqual(['1:20', '1:20', '1:20']);
  });

  it('the texts of a removed request are not computed', () => {
    const queue = new BatchQueue(100);
    queue.add(1, encoded(5, 5), false);
    queue.remove(1);
    expect(queue.isEmpty).toBe(true);
  });
});
