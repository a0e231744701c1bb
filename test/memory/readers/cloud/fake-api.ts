import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Answer of a fake API: JSON, or a body with its type and status. */
export interface FakeReply {
  readonly json?: unknown;
  readonly body?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface FakeApi {
  readonly url: string;
  readonly calls: FakeCall[];
  answer: (call: FakeCall) => FakeReply;
}

/** Start an HTTP server on loopback that answers as a test says, until the test ends. */
export async function startFakeApi(answer: FakeApi['answer']): Promise<FakeApi> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const { method = '', headers } = request;
    const call = {
      method,
      path: url.pathname,
      query: url.searchParams,
      headers,
      body: Buffer.concat(parts).toString(),
    };
    api.calls.push(call);
    const reply = api.answer(call);
    const body = reply.body ?? JSON.stringify(reply.json ?? {});
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const api: FakeApi = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: [], answer };
  return api;
}
