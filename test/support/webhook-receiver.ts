import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

/** Event that the receiver has verified. */
export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: { readonly id?: string; readonly status?: string; readonly [field: string]: unknown };
}

/** Receiver of webhooks over real HTTP. It verifies requests only with the public library of Standard Webhooks. */
export class WebhookReceiver {
  /** Secret for verification. */
  secret = '';
  /** Events of verified requests that it accepted, with repeated ones, in their order. */
  readonly accepted: ReceivedEvent[] = [];
  /** Number of all requests. */
  requests = 0;
  /** Reasons of requests that it could not verify. */
  readonly faults: string[] = [];
  headers: IncomingHttpHeaders = {};
  /** Reply to a verified event; by default it accepts it. */
  reply: (event: ReceivedEvent, response: ServerResponse) => void = (event, response) => this.accept(event, response);
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#receive(request, response));
  }

  static async start(port = 0): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(port, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hooks?from=service`;
  }

  accept(event: ReceivedEvent, response: ServerResponse): void {
    this.accepted.push(event);
    response.writeHead(204).end();
  }

  refuse(status: number, headers: Record<string, string> = {}): void {
    this.reply = (_, response) => response.writeHead(status, headers).end('no');
  }

  /** Accept events again, and clear earlier ones. */
  reset(): void {
    this.reply = (event, response) => this.accept(event, response);
    this.accepted.length = 0;
    this.faults.length = 0;
    this.requests = 0;
  }

  /** Return the accepted events without repetitions, by the object that they are about. */
  byObject(): Map<string, string[]> {
    const seen = new Set<string>();
    const types = new Map<string, string[]>();
    for (const { id, type, data } of this.accepted) {
      if (seen.has(id)) continue;
      seen.add(id);
      const object = data.id ?? id;
      types.set(object, [...(types.get(object) ?? []), type]);
    }
    return types;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++;
    this.headers = request.headers;
    const body = await text(request);
    try {
      const event = new Webhook(this.secret).verify(body, request.headers as Record<string, string>);
      this.reply({ id: String(request.headers['webhook-id']), ...(event as Omit<ReceivedEvent, 'id'>) }, response);
    } catch (error) {
      this.faults.push(String(error));
      response.writeHead(401).end();
    }
  }
}
