import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface MessageSeen {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** Fake messaging provider over real HTTP that records its requests. */
export class FakeMessenger {
  readonly seen: MessageSeen[] = [];
  /** Handler of the next messages; by default they are accepted. */
  answer: (response: ServerResponse, seen: MessageSeen) => void = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ message_id: `m-${this.seen.length}` }));
  };
  readonly #accept = this.answer;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#receive(request, response));
  }

  static async start(port = 0): Promise<FakeMessenger> {
    const fake = new FakeMessenger();
    await new Promise<void>((resolve) => fake.#server.listen(port, '127.0.0.1', resolve));
    return fake;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/v1/notify`;
  }

  /** Accept messages again, and clear the recorded ones. */
  reset(): void {
    this.answer = this.#accept;
    this.seen.length = 0;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers;
    const sent = await text(request);
    const body: unknown = sent === '' ? null : JSON.parse(sent);
    const seen = { path: request.url ?? '', authorization, body };
    this.seen.push(seen);
    this.answer(response, seen);
  }
}
