import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Files of a model by path. */
export type HubFiles = Record<string, Buffer>;

/** Handler that may answer a file request in place of the hub. It returns true if it did. */
type Fault = (path: string, request: IncomingMessage, response: ServerResponse) => boolean;

const COMMIT = 'c'.repeat(40);
const REVISIONS = new Set(['main', COMMIT].map((revision) => `/api/models/org/model/revision/${revision}`));

/** Local hub with one model, which responds like Hugging Face's. */
export class FakeHub {
  readonly url: string;
  /** File requests, with their ranges. */
  readonly requests: { path: string; range: string | undefined; token: string | undefined }[] = [];
  /** Handler that may replace responses. */
  fault: Fault = () => false;
  /** Status of every response, in place of the normal one. */
  status: number | null = null;
  /** Required token. */
  token: string | null = null;
  /** Model card metadata, as returned by the hub. */
  card: object | null = { license: 'mit' };
  /** Entries of the file list, in place of the real ones. */
  tree: object[] | null = null;
  readonly #files: HubFiles;
  readonly #server: ReturnType<typeof createServer>;

  private constructor(files: HubFiles, server: ReturnType<typeof createServer>) {
    this.#files = files;
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response));
  }

  static async start(files: HubFiles): Promise<FakeHub> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FakeHub(files, server);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent((request.url ?? '').split('?')[0] ?? '');
    const token = request.headers.authorization;
    if (this.token !== null && token !== `Bearer ${this.token}`) return void response.writeHead(401).end('no');
    if (this.status !== null) return void response.writeHead(this.status).end('no');
    if (REVISIONS.has(path)) return void response.end(this.#about());
    if (path === `/api/models/org/model/tree/${COMMIT}`)
      return void response.end(JSON.stringify(this.tree ?? this.list()));
    const file = path.startsWith(`/org/model/resolve/${COMMIT}/`)
      ? path.slice(`/org/model/resolve/${COMMIT}/`.length)
      : '';
    const content = this.#files[file];
    if (content === undefined) return void response.writeHead(404).end('no');
    const { range } = request.headers;
    this.requests.push({ path: file, range, token });
    if (this.fault(file, request, response)) return;
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    response.writeHead(range ? 206 : 200, { 'content-length': content.length - from }).end(content.subarray(from));
  }

  #about(): string {
    return JSON.stringify({ sha: COMMIT, cardData: this.card });
  }

  /** List the files: large files have a SHA-256, small ones a git digest. */
  list(): { type: string; path: string; oid: string; size: number; lfs?: { oid: string; size: number } }[] {
    return Object.entries(this.#files).map(([path, content]) => {
      const size = content.length;
      const oid = createHash('sha1').update(`blob ${size}\0`).update(content).digest('hex');
      const lfs = { oid: createHash('sha256').update(content).digest('hex'), size };
      return { type: 'file', path, oid, size, ...(path.endsWith('.onnx') ? { lfs } : {}) };
    });
  }
}
