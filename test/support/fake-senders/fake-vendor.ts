import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Request that reached a fake vendor. */
export interface VendorSeen {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests read JSON of any shape
  readonly body: any;
}

export interface VendorAnswer {
  readonly status?: number;
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
}

/** Message as a fake vendor keeps it. */
export interface KeptMessage {
  readonly id: string;
  readonly to: string;
  readonly request: VendorSeen;
  state: 'pending' | 'delivered' | 'failed' | 'resent';
}

/** Fake notification vendor over real HTTP. Its responses follow the vendor's documentation. */
export abstract class FakeVendor {
  readonly seen: VendorSeen[] = [];
  readonly messages: KeptMessage[] = [];
  /**
   * Response to the next requests in place of the vendor's own; null for the vendor's. It may also end the connection.
   */
  instead: ((response: ServerResponse, seen: VendorSeen) => VendorAnswer | undefined) | null = null;
  #kept = 0;
  readonly #server: Server = createServer((request, response) => this.#receive(request, response));

  abstract readonly provider: string;
  /** `config` of a channel that the vendor knows. */
  abstract readonly config: Record<string, unknown>;
  protected abstract isAuthorized(seen: VendorSeen): boolean;
  protected abstract refusal(seen: VendorSeen): VendorAnswer;
  protected abstract answer(seen: VendorSeen): VendorAnswer;

  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests that send a message. */
  get sends(): VendorSeen[] {
    return this.seen.filter(({ method }) => method === 'POST');
  }

  reset(): void {
    this.instead = null;
    this.seen.length = 0;
    this.messages.length = 0;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Keep a message under a unique id, even after `reset`. */
  protected keep(to: string, request: VendorSeen, idOf = (nth: number) => `message-${nth}`): KeptMessage {
    this.#kept++;
    const message: KeptMessage = { id: idOf(this.#kept), to, request, state: 'pending' };
    this.messages.push(message);
    return message;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const path = request.url ?? '';
    const seen: VendorSeen = {
      ...{ method: request.method ?? '', path, url: new URL(path, this.url), headers: request.headers },
      body: body === '' ? null : JSON.parse(body),
    };
    this.seen.push(seen);
    const given = this.instead === null ? this.#own(seen) : this.instead(response, seen);
    if (given === undefined) return;
    response.writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers });
    response.end(typeof given.body === 'string' ? given.body : JSON.stringify(given.body ?? {}));
  }

  /** Respond as the vendor does. */
  #own(seen: VendorSeen): VendorAnswer {
    return this.isAuthorized(seen) ? this.answer(seen) : this.refusal(seen);
  }

  /**
   * Accept requests like the vendor, but never answer those that send a message.
   * @param onTaken called after each of these
   */
  takeAndHang(onTaken: () => void): void {
    this.instead = (_response, seen) => {
      const answer = this.#own(seen);
      if (seen.method !== 'POST') return answer;
      onTaken();
      return undefined;
    };
  }

  /** Accept a request like the vendor, and then end the connection without a response. */
  takeAndReset(): void {
    this.instead = (response, seen) => {
      this.#own(seen);
      response.socket?.resetAndDestroy();
      return undefined;
    };
  }
}
