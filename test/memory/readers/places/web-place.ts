import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SourcePlace } from './place.ts';

interface Page {
  readonly content: string;
  readonly at: Date;
  readonly isDenied: boolean;
}

/** Open a website with a page for each entry, and a first page that links to them and is no entry itself. */
export async function openWebPlace(): Promise<SourcePlace> {
  const pages = new Map<string, Page>();
  const server = createServer((request, response) => {
    const name = decodeURIComponent((request.url ?? '/').slice(1));
    if (name === '') {
      const links = [...pages.keys()].map((each) => `<a href="/${encodeURIComponent(each)}">a page</a>`);
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(`<title>Pages</title><meta name="robots" content="noindex">${links.join('\n')}`);
      return;
    }
    const page = pages.get(name);
    if (page === undefined || page.isDenied) {
      response.writeHead(page === undefined ? 404 : 403).end();
      return;
    }
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.setHeader('last-modified', page.at.toUTCString());
    response.end(page.content);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    connection: {
      ...{ type: 'web', sites: [`http://127.0.0.1:${port}/`], networks: ['127.0.0.1'] },
      requests_per_second: 1_000,
    },
    config: {},
    async write(name, content, at = new Date()) {
      pages.set(name, { content, at, isDenied: false });
    },
    remove: async (name) => void pages.delete(name),
    async rename(from, to) {
      pages.set(to, pages.get(from) as Page);
      pages.delete(from);
    },
    async vanish() {
      await stop();
      return () => listen(port);
    },
    async deny(name) {
      pages.set(name, { ...(pages.get(name) as Page), isDenied: true });
    },
    close: stop,
  };
}
