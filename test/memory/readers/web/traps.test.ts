import { readdir, readFile, stat } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSite } from '../../../support/crawl-site.ts';
import { startWebsite } from '../../../support/website.ts';

const page = (text: string, ...links: readonly string[]) =>
  `<title>${text}</title><p>${text}</p>${links.map((link) => `<a href="${link}">link</a>`).join('')}`;

/** 50 MB in 50 kB. */
const BOMB = gzipSync(Buffer.alloc(50_000_000));

/** Write bytes as fast as the client takes them, until it has gone. */
function writeForever(chunk: Uint8Array, headers: Record<string, string>): RequestListener {
  return (_request, response) => {
    response.writeHead(200, headers);
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', write);
    write();
  };
}

describe('a page without an end is a fault, and the others are read:', () => {
  it.each<[string, RequestListener, RegExp]>([
    [
      'a file that announces 10 GB',
      (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': '10000000000' }).write('x'),
      /more than the maximum of 1000000 bytes/,
    ],
    [
      'a file that is sent without end',
      writeForever(Buffer.alloc(65_536, 'x'), { 'content-type': 'application/pdf' }),
      /more than the maximum/,
    ],
    [
      'a page that is sent without end',
      writeForever(Buffer.from('<p>again</p>'.repeat(5_000)), { 'content-type': 'text/html' }),
      /more than the maximum/,
    ],
    [
      'a page whose text is a bomb of gzip',
      (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(BOMB),
      /more than the maximum/,
    ],
    [
      'a page that is compressed in an unknown way',
      (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip, gzip' }).end('x'),
      /content encoding "gzip, gzip"/,
    ],
    [
      'a page that is damaged',
      (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end('x'),
      /cannot be read \(Z_\w+\)/,
    ],
    ['a page that does not begin', () => undefined, /it takes longer than 0.5 s/],
    [
      'a page that does not end',
      (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<p>'),
      /it takes longer than 0.5 s/,
    ],
    [
      'a page that is cut off',
      (request, response) => {
        response.writeHead(200, { 'content-type': 'text/html', 'content-length': '100' }).write('<p>');
        setImmediate(() => request.socket.destroy());
      },
      /closes the connection|cannot be read/,
    ],
    [
      'headers without an end',
      (_request, response) => void response.writeHead(200, { 'x-long': 'x'.repeat(200_000) }).end(),
      /its headers are too large/,
    ],
  ])('%s', async (_what, answer, fault) => {
    const { url } = await startWebsite({
      '/': page('Start', '/trap', '/beside'),
      '/trap': answer,
      '/beside': page('B'),
    });
    const site = await openSite([url], {}, {}, { bytesMax: 1_000_000, pageMs: 500 });
    await site.crawl();
    const { keys, faults } = await site.crawl();
    expect(keys).toEqual([url, `${url}beside`]);
    expect(faults).toEqual([{ key: `${url}trap`, fault: expect.stringMatching(fault) }]);
    expect(await readdir(path.join(site.dataDir, 'crawls'))).toEqual([]);
  });
});

describe('a site without an end has bounded work:', () => {
  it.each<[string, (path: string) => string, number]>([
    ['a calendar of queries', (at) => page(at, `/?day=${dayOf(at) + 1}`, `/?day=${dayOf(at) + 2}`), 502],
    ['a calendar of paths', (at) => page(at, `/${monthAfter(at, 1)}/`, `/${monthAfter(at, 2)}/`), 502],
    ['folders in folders', (at) => page(at, `${at}next/`), 5],
    ['session ids', (at) => page(at, `/?sid=${'abcdef12'.repeat(2)}${dayOf(at) + 1}`), 502],
  ])('%s', async (_what, body, most) => {
    const { url, pages, requests } = await startWebsite();
    const get = pages.get.bind(pages);
    pages.get = (at) => (at === '/robots.txt' || at === '/sitemap.xml' ? get(at) : body(at));
    const site = await openSite([url], { depth: 50, pages: 600 });
    const { keys, faults } = await site.crawl();
    expect(keys.length).toBeLessThanOrEqual(most);
    expect(requests.length).toBeLessThan(2 * most + 10);
    expect(faults.every(({ fault }) => fault.includes('too many pages look like this'))).toBe(true);
  });

  it('redirects in a circle, and without an end', async () => {
    const { url, pages, requests } = await startWebsite({ '/': page('Start', '/circle', '/hop/0') });
    const get = pages.get.bind(pages);
    pages.get = (at) => {
      if (at.startsWith('/circle'))
        return { status: 302, headers: { location: at === '/circle' ? '/circle/2' : '/circle' } };
      if (at.startsWith('/hop/')) return { status: 301, headers: { location: `/hop/${dayOf(at) + 1}` } };
      return get(at);
    };
    const { keys, faults } = await (await openSite([url])).crawl();
    expect({ keys, faults }).toEqual({ keys: [url], faults: [] });
    expect(requests.length).toBeLessThan(20);
  });

  it('a page that is nested without end, and one with a hundred thousand links', async () => {
    const { url } = await startWebsite({
      '/': page('Start', '/deep', '/wide'),
      '/deep': '<x>'.repeat(2_000_000),
      '/wide': Array.from({ length: 100_000 }, (_, n) => `<a href="/${n}/${'y'.repeat(20)}">`).join(''),
      '/9/yyyyyyyyyyyyyyyyyyyy': page('Nine'),
    });
    const { keys } = await (await openSite([url], { pages: 100 })).crawl();
    expect(keys).toEqual([url, `${url}9/yyyyyyyyyyyyyyyyyyyy`, `${url}deep`, `${url}wide`]);
  });

  it('a sitemap that is a bomb of gzip, one that names itself, and one with an entity', async () => {
    const { url, pages } = await startWebsite({ '/': page('Start') });
    pages.set('/robots.txt', ['bomb', 'self', 'entity'].map((name) => `Sitemap: ${url}${name}.xml`).join('\n'));
    pages.set('/bomb.xml', { body: gzipSync(`<urlset>${' '.repeat(60_000_000)}</urlset>`) });
    pages.set('/self.xml', `<sitemapindex><sitemap><loc>${url}self.xml</loc></sitemap></sitemapindex>`);
    pages.set(
      '/entity.xml',
      '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url><loc>&e;</loc></url></urlset>',
    );
    const site = await openSite([url]);
    await site.crawl();
    const { keys, faults } = await site.crawl();
    expect(keys).toEqual([url]);
    expect(faults.map(({ key }) => key)).toEqual([`${url}bomb.xml`, `${url}entity.xml`]);
  });
});

describe('a site leads to no other place:', () => {
  const REDIRECTS = ['HOST', '//HOST', 'file:///etc/passwd', 'http://user:pass@HOST', 'gopher://HOST/x', '//user@HOST'];

  it.each(REDIRECTS)('a page, robots.txt and a sitemap that redirect to %s', async (target) => {
    const other = await startWebsite({}, '0.0.0.0');
    const location = target.replace('HOST', `127.0.0.2:${new URL(other.url).port}/`);
    const answer = { status: 302, headers: { location: location.startsWith('127') ? `http://${location}` : location } };
    const { url, pages } = await startWebsite({
      '/': page('Start', '/a', location),
      '/a': answer,
      '/sitemap.xml': answer,
    });
    const site = await openSite([url]);
    expect((await site.crawl()).keys).toEqual([url]);
    pages.set('/robots.txt', answer);
    await site.crawl().catch(() => undefined);
    expect(other.requests).toEqual([]);
  });

  it('robots.txt on an address of this host that is not listed ends the crawl, and says what to list', async () => {
    const { url } = await startWebsite({ '/': page('Start') });
    const site = await openSite([url], {}, { networks: [] });
    await expect(site.crawl()).rejects.toMatchObject({
      category: 'source_unavailable',
      message: expect.stringMatching(/127.0.0.1 is an address of this host; to allow it, list exactly this address/),
    });
  });

  it('a link that leads up once the server has decoded it', async () => {
    const { url, requests } = await startWebsite({
      '/docs/': page('Start', '..%2fsecret', '%2e%2e/secret', '..%5csecret', '/docs/%2e%2e%2fsecret'),
    });
    await (await openSite([`${url}docs/`])).crawl();
    expect(requests.filter((each) => each.path.includes('secret'))).toEqual([]);
  });
});

describe('a site that is down or refuses', () => {
  it.each<[string, number, object]>([
    [
      'asks for a login',
      401,
      { category: 'source_refused', message: expect.stringContaining('set headers or cookie') },
    ],
    ['refuses its first page', 403, { category: 'source_refused', message: expect.stringContaining('(403)') }],
    ['has no first page', 404, { category: 'source_missing', message: expect.stringContaining('check the start') }],
    ['fails at its first page', 500, { category: 'source_unavailable', retryable: true }],
  ])('ends the crawl with its reason if it %s', async (_what, status, fault) => {
    const { url } = await startWebsite({ '/': { status, headers: { 'retry-after': '0' } } });
    await expect((await openSite([url])).crawl()).rejects.toMatchObject(fault);
  });

  it.each<[string, string, RegExp]>([
    ['has no server', 'http://127.0.0.1:9/', /nothing listens there/],
    ['has an unknown name', 'http://site.invalid/', /this host name (?:is unknown|cannot be looked up)/],
    ['speaks no TLS', 'HTTPS', /does not speak TLS|ERR_SSL|EPROTO/],
  ])('ends the crawl with its reason if it %s', async (_what, address, message) => {
    const { url } = await startWebsite({ '/': page('Start') });
    const site = await openSite([address === 'HTTPS' ? url.replace('http:', 'https:') : address]);
    const crawl = site.crawl();
    await expect(crawl).rejects.toMatchObject({ category: 'source_unavailable' });
    await expect(crawl).rejects.toThrow(message);
  });

  it('ends the crawl with its reason if it has a certificate of an unknown authority', async () => {
    const file = (name: string) => readFile(path.join(import.meta.dirname, '../../../support/certificates', name));
    const [cert, key] = await Promise.all([file('localhost.crt'), file('localhost.key')]);
    const server = createServer({ cert, key }, (_request, response) => void response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const site = await openSite(
      [`https://localhost:${(server.address() as AddressInfo).port}/`],
      {},
      { networks: ['127.0.0.1', '::1'] },
    );
    await expect(site.crawl()).rejects.toMatchObject({
      category: 'source_unavailable',
      message: expect.stringMatching(/its certificate is not trusted .+ NODE_EXTRA_CA_CERTS/),
    });
  });

  it('ends the crawl if its first page redirects to another site', async () => {
    const { url } = await startWebsite({ '/': { status: 301, headers: { location: 'https://www.example.com/' } } });
    await expect((await openSite([url])).crawl()).rejects.toMatchObject({
      category: 'source_settings',
      message: expect.stringContaining('redirects to https://www.example.com/, which the source may not read'),
    });
  });

  it('ends the crawl after twenty failures in a row', async () => {
    const links = Array.from({ length: 500 }, (_, n) => `/page/${n}`);
    const pages = Object.fromEntries(links.map((link) => [link, { status: 500 }]));
    const down = await startWebsite({ '/': page('Start', ...links), ...pages });
    await expect((await openSite([down.url])).crawl()).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining('20 times in a row'),
    });
    expect(down.requests.length).toBeLessThan(60);
  });

  it('gets the pause that it asks for, and is asked again', async () => {
    let asked = 0;
    const at: number[] = [];
    const { url } = await startWebsite({
      '/': (_request, response) => {
        at.push(Date.now());
        if (++asked < 3)
          response.writeHead(429, { 'retry-after': asked === 1 ? '1' : 'Thu, 01 Jan 1970 00:00:00 GMT' }).end();
        else response.setHeader('content-type', 'text/html').end(page('Start'));
      },
    });
    expect((await (await openSite([url])).crawl()).keys).toEqual([url]);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(990);
    expect(at.length).toBe(3);
  });

  it('is asked no faster than the connection and its robots.txt allow', async () => {
    const { url, pages, requests } = await startWebsite({
      '/': page('Start', '/a', '/b'),
      '/a': page('A'),
      '/b': page('B'),
    });
    const began = performance.now();
    await (await openSite([url], {}, { requests_per_second: 20 })).crawl();
    expect(performance.now() - began).toBeGreaterThanOrEqual((requests.length - 1) * 49);
    pages.set('/robots.txt', 'User-agent: *\nCrawl-delay: 0.2');
    const slower = performance.now();
    await (await openSite([url], { sitemap: 'off' })).crawl();
    expect(performance.now() - slower).toBeGreaterThanOrEqual(390);
  });
});

it('a crawl ends at once when it is cancelled, and leaves nothing on the disk', async () => {
  const stop = new AbortController();
  const { url } = await startWebsite({
    '/': page('Start', '/slow'),
    '/slow': () => stop.abort(new Error('cancelled')),
  });
  const site = await openSite([url]);
  await expect(site.crawl(stop.signal)).rejects.toThrow('cancelled');
  expect(await readdir(path.join(site.dataDir, 'crawls'))).toEqual([]);
  expect(site.state).toBe(null);
});

it('a crawl ends at once when it is cancelled between two requests', async () => {
  const stop = new AbortController();
  const { url } = await startWebsite({
    '/': (_request, response) => {
      response.setHeader('content-type', 'text/html').end(page('Start', '/a'));
      setImmediate(() => stop.abort(new Error('cancelled')));
    },
  });
  const site = await openSite([url], { sitemap: 'off' }, { requests_per_second: 0.5 });
  await expect(site.crawl(stop.signal)).rejects.toThrow('cancelled');
});

it('the body of a large file is streamed from the disk', async () => {
  const body = `%PDF-1.4 ${'x'.repeat(6_000_000)}`;
  const { url } = await startWebsite({
    '/': page('Start', '/a.pdf'),
    '/a.pdf': { headers: { 'content-type': 'application/pdf' }, body },
  });
  const site = await openSite([url]);
  const { read, texts } = await site.crawl();
  expect(read.get(`${url}a.pdf`)?.content).toHaveProperty('openStream');
  expect(texts.get(`${url}a.pdf`)).toBe(body);
  await expect(stat(path.join(site.dataDir, 'crawls'))).resolves.toBeDefined();
});

/** Return the month `count` months after the one of a path, as `2024/05`. */
function monthAfter(at: string, count: number): string {
  const [, year = '2000', month = '1'] = /(\d{4})\/(\d\d)/.exec(at) ?? [];
  const months = Number(year) * 12 + Number(month) - 1 + count;
  return `${Math.floor(months / 12)}/${String((months % 12) + 1).padStart(2, '0')}`;
}

function dayOf(at: string): number {
  return Number(/(\d+)$/.exec(at)?.[1] ?? 0);
}
