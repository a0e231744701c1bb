import type { TestApi } from './api.ts';

/** Event of a stream, as a browser receives it. */
export interface SentEvent {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests that read it check it
  readonly data: any;
}

export interface OpenStream {
  readonly status: number;
  /** Events so far. */
  readonly events: SentEvent[];
  /** Everything that was sent so far. */
  text(): string;
  /** True once the server has ended the stream. */
  readonly hasEnded: () => boolean;
  close(): void;
}

/** Open an event stream and collect its events until it is closed. */
export async function openEvents(
  test: TestApi,
  headers: Record<string, string>,
  query: Record<string, string> = {},
): Promise<OpenStream> {
  const abort = new AbortController();
  const url = `${test.api.url}/v1/events?${new URLSearchParams(query)}`;
  const reply = await fetch(url, { headers, signal: abort.signal });
  const events: SentEvent[] = [];
  let text = '';
  let hasEnded = false;
  let rest = '';
  const read = async () => {
    for await (const chunk of reply.body ?? []) {
      const part = Buffer.from(chunk).toString();
      text += part;
      const blocks = (rest + part).split('\n\n');
      rest = blocks.pop() as string;
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
        if (fields['event'])
          events.push({ id: fields['id'], event: fields['event'], data: JSON.parse(fields['data']) });
      }
    }
  };
  read()
    .catch(() => {})
    .finally(() => {
      hasEnded = true;
    });
  return { status: reply.status, events, text: () => text, hasEnded: () => hasEnded, close: () => abort.abort() };
}
