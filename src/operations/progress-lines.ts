import type { Readable } from 'node:stream';
import { AppError } from '../platform/errors.ts';
import { mapPostgresError } from '../platform/postgres.ts';
import { jsonLines, readJsonLines } from './json-lines.ts';
import { readReply, renderFailure } from './wire.ts';

/** Line in the body of a long operation: progress, or finally the result or error. */
type ProgressLine = { readonly done: number } | { readonly result: unknown } | ReturnType<typeof renderFailure>;

/**
 * Run a long operation, and create a stream of its progress and result. Destroying the stream aborts the operation, so
 * that Ctrl-C in a command also stops the work in the server.
 *
 * @param run gets a function to report progress, and a signal
 */
export function streamProgress(
  run: (onProgress: (done: number) => void, signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Readable {
  return jsonLines((ended) => progressLines(run, ended), signal);
}

async function* progressLines(
  run: Parameters<typeof streamProgress>[0],
  signal: AbortSignal,
): AsyncGenerator<ProgressLine, void> {
  const state: { done: number; end: ProgressLine | null } = { done: 0, end: null };
  let wake = () => {};
  const change = (changed: Partial<typeof state>) => {
    Object.assign(state, changed);
    wake();
  };
  run((done) => change({ done }), signal).then(
    (result) => change({ end: { result } }),
    (error) => change({ end: renderFailure(mapPostgresError(error)) }),
  );
  // A slow reader gets only the latest progress.
  for (let sent = 0; state.end === null; ) {
    const { done } = state;
    if (done !== sent) yield { done };
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    sent = done;
  }
  yield state.end;
}

/**
 * Read the progress and the result of an operation from a stream created by `streamProgress`. After an abort, wait
 * until an operation in this process has ended.
 * @returns the result, after JSON serialisation
 * @throws AppError of the operation; `server_stopped` (503) if the stream ends without a result; the signal's reason
 */
export async function readProgress<Result>(
  stream: Readable,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<Result> {
  try {
    // The signal ends the operation, which ends the stream.
    for await (const line of readJsonLines<ProgressLine>(stream, new AbortController().signal)) {
      if (!('done' in line)) return readReply(line) as Result;
      onProgress(line.done);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  throw new AppError({ code: 'server_stopped', status: 503, message: 'the server stopped; repeat the command' });
}
