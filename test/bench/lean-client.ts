import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEADERS_END = '\r\n\r\n';

/** Client with one connection. It sends one request at a time in a single write, so that its own cost is negligible. */
export class LeanClient {
  readonly #socket: Socket;
  readonly #path: string;
  readonly #headers: string;
  readonly #status: number;
  #received: Buffer = Buffer.alloc(0);
  #onData: () => void = () => {};

  private constructor(socket: Socket, target: { readonly path: string; readonly headers: string }, status: number) {
    this.#socket = socket;
    this.#path = target.path;
    this.#headers = target.headers;
    this.#status = status;
    socket.setNoDelay(true).on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#onData();
    });
  }

  /**
   * Open a connection.
   *
   * @param url target of the requests, by POST with a JSON body
   * @param status expected status of all responses
   */
  static async open(url: string, headers: Readonly<Record<string, string>>, status = 200): Promise<LeanClient> {
    const { hostname, port, pathname, host } = new URL(url);
    const lines = Object.entries({ host, 'content-type': 'application/json', ...headers });
    const lineOf = ([name, value]: readonly [string, string]) => `${name}: ${value}\r\n`;
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new LeanClient(socket, { path: pathname, headers: lines.map(lineOf).join('') }, status);
  }

  /**
   * Send a request.
   *
   * @param path path, if it differs from the connection's
   * @returns the response body
   * @throws Error for an unexpected status, or a response without a length
   */
  async post(body: string, path = this.#path): Promise<Buffer> {
    this.#received = Buffer.alloc(0);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.#onData = () => {
      const end = this.#received.indexOf(HEADERS_END);
      if (end < 0) return;
      const head = this.#received.toString('latin1', 0, end);
      const length = /^content-length: (\d+)\r?$/im.exec(head)?.[1];
      if (!head.startsWith(`HTTP/1.1 ${this.#status} `) || length === undefined) return reject(new Error(head));
      const from = end + HEADERS_END.length;
      if (this.#received.length >= from + Number(length)) resolve(this.#received.subarray(from));
    };
    const head = `POST ${path} HTTP/1.1\r\n${this.#headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    this.#socket.write(head + body);
    return promise;
  }

  close(): void {
    this.#socket.destroy();
  }
}
