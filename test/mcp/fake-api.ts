import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Call that the fake received. */
export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** End the connection without an answer. */
  readonly breaks?: boolean;
}

export interface FakeApi {
  readonly url: string;
  readonly calls: FakeCall[];
  /** Answers by `METHOD /path`, which override those of the fake. */
  readonly answers: Map<string, FakeAnswer | ((call: FakeCall) => FakeAnswer)>;
  /** Hold searches until the returned function is called. */
  holdSearches(): () => void;
}

const ROUTES = {
  '/v2/buckets/{bucket}/search': ['post'],
  '/v1/buckets': ['get'],
  '/v1/buckets/{bucket}/collections': ['get'],
  '/v1/buckets/{bucket}/documents': ['post'],
  '/v1/documents/{document}': ['get'],
};

/** Routes of memory, workflows and reading, which an installation may have or not. */
export const FURTHER_ROUTES = {
  '/v1/memory/search': ['post'],
  '/v1/memory/sources': ['get'],
  '/v1/documents/{document}/chunks': ['get'],
  '/v1/workflows': ['get'],
  '/v1/workflows/{workflow}/dry-run': ['post'],
  '/v1/workflows/{workflow}/run': ['post'],
};

export const RESULT = {
  ...{ id: 'doc_1_1_0', document_id: 'doc_1', chunk_index: 0, text: 'The ferry leaves at seven.', score: 0.9 },
  scores: { vector_score: 0.9, bm25_score: null, rrf_score: 0.1, rerank_score: null },
  metadata: { team: 'a' },
  citation: {
    ...{ file_name: 'ferry.txt', source_path: null, url: 'http://127.0.0.1/documents/doc_1' },
    locator: { page: 2, heading_path: ['Boats'], start: 0, end: 26 },
  },
};

/** Start a server that answers like the REST API, for cases that the real one cannot produce; it ends with the test. */
export async function startFakeApi(further: Record<string, string[]> = {}): Promise<FakeApi> {
  const calls: FakeCall[] = [];
  const answers: FakeApi['answers'] = new Map();
  let held: Promise<void> = Promise.resolve();
  const paths = Object.fromEntries(
    Object.entries({ ...ROUTES, ...further }).map(([path, methods]) => [
      path,
      Object.fromEntries(methods.map((method) => [method, {}])),
    ]),
  );
  const own: Record<string, FakeAnswer> = {
    'GET /openapi.json': { body: { openapi: '3.1.0', paths } },
    'GET /v1/me': {
      body: {
        ...{ org: { id: 'org_1', name: 'default', plan: 'free' }, kind: 'key', user_id: 'usr_1' },
        ...{ scopes: ['search'], auth_level: 5 },
      },
    },
    'GET /v1/documents/doc_1': { body: { id: 'doc_1' } },
    'POST /v1/memory/search': { body: { object: 'list', results: [RESULT], warnings: [] } },
  };
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const [path = ''] = (req.url ?? '').split('?');
    const body = req.headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : text;
    const call = { method: req.method ?? '', path: req.url ?? '', headers: req.headers, body };
    calls.push(call);
    const isSearch = path.endsWith('/search') && path.startsWith('/v2/');
    if (isSearch) await held;
    const search: FakeAnswer | undefined = isSearch
      ? { body: { object: 'list', results: [RESULT], warnings: [] } }
      : undefined;
    const found = answers.get(`${req.method} ${path}`) ?? own[`${req.method} ${path}`] ?? search;
    const answer =
      typeof found === 'function' ? found(call) : (found ?? { status: 404, body: { detail: 'no such route' } });
    if (answer.breaks) {
      req.socket.destroy();
      return;
    }
    res.writeHead(answer.status ?? 200, { 'Content-Type': 'application/json', ...answer.headers });
    res.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    answers,
    holdSearches() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };
}
