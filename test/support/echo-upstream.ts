import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Vendor response that echoes the credential of a request. */
export interface Echo {
  readonly status: number;
  /** Return the whole response including the credential, or null to reset the connection. */
  readonly body: (credential: string) => string | null;
  readonly headers?: (credential: string) => Record<string, string>;
}

/** HTTP fake of a vendor of any protocol. Its responses echo the request's credential. */
export class EchoUpstream {
  echo: Echo = { status: 500, body: () => '{}' };
  /** Every received credential, without its scheme. */
  readonly credentials = new Set<string>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(): Promise<EchoUpstream> {
    const upstream = new EchoUpstream();
    await new Promise<void>((resolve) => upstream.#server.listen(0, '127.0.0.1', resolve));
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { authorization, 'x-goog-api-key': google, 'api-key': azure } = request.headers;
    const given = authorization ?? google ?? azure ?? '';
    const credential = String(given).replace(/^Bearer /, '');
    if (credential !== '') this.credentials.add(credential);
    const { status, body, headers } = this.echo;
    request.resume().on('end', () => {
      const text = body(credential);
      if (text === null) {
        request.socket.resetAndDestroy();
        return;
      }
      response.writeHead(status, { 'content-type': 'application/json', ...headers?.(credential) }).end(text);
    });
  }
}
