import { once } from 'node:events';
import { expect, test } from 'vitest';
import { readProgress, streamProgress } from '../../src/operations/progress-lines.ts';
import { conflict } from '../../src/platform/errors.ts';

const never = () => new AbortController().signal;

/** Function that can be awaited until somebody calls it. */
function gate(): { readonly passed: Promise<void>; readonly pass: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, pass: resolve };
}

test('the progress of an operation is read until its result', async () => {
  const seen: number[] = [];
  const first = gate();
  const stream = streamProgress(async (onProgress) => {
    onProgress(1);
    await first.passed;
    for (const done of [2, 3, 4]) onProgress(done);
    return { chunks: 4, at: new Date(0) };
  }, never());
  const onProgress = (done: number) => {
    seen.push(done);
    first.pass();
  };
  expect(await readProgress(stream, onProgress, never())).toEqual({ chunks: 4, at: '1970-01-01T00:00:00.000Z' });
  expect(seen[0]).toBe(1);
});

test('the error of an operation arrives with its code, after the progress before it', async () => {
  const stream = streamProgress(async () => {
    throw conflict('the index is empty', 'index_empty');
  }, never());
  await expect(readProgress(stream, () => undefined, never())).rejects.toMatchObject({
    ...{ code: 'index_empty', status: 409, message: 'the index is empty' },
  });
});

test('an operation is aborted when its reader leaves', async () => {
  const began = gate();
  const ended = gate();
  const stream = streamProgress(async (_, signal) => {
    began.pass();
    await once(signal, 'abort');
    ended.pass();
    throw signal.reason;
  }, never());
  stream.resume();
  await began.passed;
  stream.destroy();
  await ended.passed;
});

test('an abort ends the operation before its reader is told', async () => {
  const stop = new AbortController();
  let hasEnded = false;
  const stream = streamProgress(async (onProgress, signal) => {
    onProgress(1);
    await once(signal, 'abort');
    hasEnded = true;
    throw signal.reason;
  }, stop.signal);
  const reading = readProgress(stream, () => stop.abort(new Error('stopped by the test')), stop.signal);
  await expect(reading).rejects.toThrow('stopped by the test');
  expect(hasEnded).toBe(true);
});

test('a stream that ends without a result says that the server stopped', async () => {
  const stream = streamProgress(() => new Promise(() => undefined), never());
  const reading = readProgress(stream, () => undefined, never());
  stream.push(null);
  await expect(reading).rejects.toMatchObject({ code: 'server_stopped' });
});
