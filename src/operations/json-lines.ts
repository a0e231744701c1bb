import { Readable } from 'node:stream';

/**
 * Create a stream of items, each as one line of JSON. Request an item only after the reader has taken the last one.
 *
 * @param open opens the items; its signal is aborted when the stream is destroyed
 */
export function jsonLines(open: (signal: AbortSignal) => AsyncGenerator<unknown, void>, signal: AbortSignal): Readable {
  const ended = new AbortController();
  const items = open(AbortSignal.any([signal, ended.signal]));
  return new Readable({
    highWaterMark: 1,
    read() {
      items.next().then(
        ({ done, value }) => this.push(done ? null : `${JSON.stringify(value)}\n`),
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, callback) {
      ended.abort();
      callback(error);
    },
  });
}

/** Read the items of a stream created by `jsonLines`. Destroy the stream when the reader stops. */
export async function* readJsonLines<Item>(stream: Readable, signal: AbortSignal): AsyncGenerator<Item, void> {
  const stop = () => stream.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    let rest = '';
    for await (const part of stream.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stream.destroy();
  }
}
