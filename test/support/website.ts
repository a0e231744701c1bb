import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Response of a test site: an HTML body, parts of a response, or a function that responds. */
export type SiteAnswer =
  | string
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  | RequestListener;

/** Website on the loopback address, whose pages a test changes. */
export interface Website {
  /** Origin with a slash at the end. */
  readonly url: string;
  /** Answers by path with query. */
  readonly pages: Map<string, SiteAnswer>;
  /** Requests in their order: path with query, and headers. */
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
  /** Return the paths of the requests since the last call, sorted. */
  takePaths(): string[];
  close(): Promise<void>;
}

/** Start a website. `robots.txt` and `sitemap.xml` are missing unless the test adds them. */
export async function startWebsite(
  pages: Readonly<Record<string, SiteAnswer>> = {},
  host = '127.0.0.1',
): Promise<Website> {
  const all = new Map(Object.entries(pages));
  const requests: Website['requests'] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    requests.push({ path, headers: request.headers });
    const answer = all.get(path) ?? { status: 404 };
    if (typeof answer === 'function') return answer(request, response);
    const { status = 200, headers = {}, body = '' } = typeof answer === 'string' ? { body: answer } : answer;
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}/`,
    pages: all,
    requests,
    takePaths: () =>
      requests
        .splice(0)
        .map(({ path }) => path)
        .sort(),
    close,
  };
}
