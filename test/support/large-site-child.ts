/**
 * Website with many linked pages, in a separate process. The argument is the number of pages. Each page links to the
 * first page, to its neighbours and to ten pages further on, and has an ETag.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const PAGES = Number(process.argv[2]);
const LINKS = 10;
const WORDS = 'harbour tide lens bearing granite orchard ferry ledger saline pylon quarry meadow cobalt'.split(' ');

/** Write the page with a number: some kilobytes of navigation and text. */
function pageOf(nth: number): string {
  const near = Array.from({ length: LINKS }, (_, n) => (nth * LINKS + n + 1) % PAGES);
  const links = [0, (nth + 1) % PAGES, ...near].map((to) => `<li><a href="/page-${to}.html">Page ${to}</a></li>`);
  const sentence = (n: number) =>
    `The ${Array.from({ length: 12 }, (_, w) => WORDS[(nth * 7 + n * 5 + w * w) % WORDS.length]).join(' ')}.`;
  const text = Array.from({ length: 30 }, (_, n) => `<p>${sentence(n)}</p>`).join('\n');
  return `<!doctype html><title>Page ${nth}</title><nav><ul>${links.join('')}</ul></nav><main><h1>Page ${nth}</h1>${text}</main>`;
}

const server = createServer((request, response) => {
  const found = /^\/(?:page-(\d+)\.html)?$/.exec(request.url ?? '');
  const nth = Number(found?.[1] ?? 0);
  if (found === null || nth >= PAGES) {
    response.writeHead(404).end();
    return;
  }
  const etag = `"${nth}"`;
  response.setHeader('etag', etag);
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    return;
  }
  const canonical = found[1] === undefined ? '<link rel="canonical" href="/page-0.html">' : '';
  response.setHeader('content-type', 'text/html; charset=utf-8').end(canonical + pageOf(nth));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());
