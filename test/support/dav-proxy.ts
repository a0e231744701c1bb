import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Response to a request in place of the server's. */
export type DavAnswer = (request: IncomingMessage, response: ServerResponse) => void;

/** HTTP proxy in front of a local WebDAV server. It answers some requests itself. */
export interface DavProxy {
  readonly url: string;
  /** Responses by decoded request path. An entry with a method, `PROPFIND /path`, takes precedence. */
  readonly answers: Map<string, DavAnswer>;
  /** Requests so far, as method and decoded path. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Start a proxy on a free port of the loopback address. @param url address of a folder on the server */
export async function startDavProxy(url: string): Promise<DavProxy> {
  const target = new URL(url);
  const answers = new Map<string, DavAnswer>();
  const requests: string[] = [];
  const proxy = createServer((incoming, outgoing) => {
    const path = decodeURIComponent(incoming.url ?? '/');
    requests.push(`${incoming.method} ${path}`);
    const answer = answers.get(`${incoming.method} ${path}`) ?? answers.get(path);
    if (answer !== undefined) {
      incoming.resume();
      answer(incoming, outgoing);
      return;
    }
    const { method, headers } = incoming;
    const options = { host: target.hostname, port: target.port, path: incoming.url, method, headers };
    const onward = request(options, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${target.pathname}`,
    answers,
    requests,
    async close() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
