import { readdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openSite } from '../../../support/crawl-site.ts';
import { type SiteAnswer, startWebsite } from '../../../support/website.ts';

const page = (text: string, ...links: readonly string[]) =>
  `<title>${text}</title><p>${text}</p>${links.map((link) => `<a href="${link}">link</a>`).join('')}`;
const gone: SiteAnswer = { status: 404 };

describe('what a crawl reads', () => {
  it('pages and files that are linked within the site, each requested once, with their metadata', async () => {
    const { url, pages, takePaths } = await startWebsite({
      '/manual/': page(
        'Start',
        'a.html',
        '/outside.html',
        'tides.pdf',
        'picture',
        'photo.jpg',
        'data.bin',
        'style.css',
      ),
      '/manual/a.html': page('Page A', './', 'b.html#part', 'b.html?utm_source=mail', 'HTTP://127.0.0.1/x'),
      '/manual/b.html': {
        headers: { 'last-modified': 'Wed, 01 May 2024 10:00:00 GMT' },
        body: page('Page B', 'a.html'),
      },
      '/manual/tides.pdf': { headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.4 no real one' },
      '/manual/picture': { headers: { 'content-type': 'image/png' }, body: 'png' },
      '/manual/data.bin': { headers: { 'content-type': 'application/octet-stream' }, body: 'zip' },
    });
    expect(pages.size).toBe(6);
    const site = await openSite([`${url}manual/`]);
    const { keys, faults, read, texts } = await site.crawl();
    expect(keys).toEqual(['', 'a.html', 'b.html', 'tides.pdf'].map((name) => `${url}manual/${name}`));
    expect(faults).toEqual([]);
    expect(takePaths()).toEqual([
      ...['/manual/', '/manual/a.html', '/manual/b.html', '/manual/data.bin', '/manual/picture', '/manual/tides.pdf'],
      ...['/robots.txt', '/sitemap.xml'],
    ]);
    const key = `${url}manual/b.html`;
    expect(read.get(key)).toMatchObject({
      ...{ fileName: 'Page B.html', contentType: 'text/html; charset=utf-8', sourcePath: key },
      ...{ metadata: { source_kind: 'web', source_url: key }, eventTimeMs: Date.UTC(2024, 4, 1, 10) },
    });
    expect(read.get(`${url}manual/tides.pdf`)).toMatchObject({ fileName: 'tides.pdf', contentType: 'application/pdf' });
    expect(texts.get(key)).toBe(page('Page B', 'a.html'));
  });

  it('only pages that the patterns name, with the query where a page has one', async () => {
    const { url } = await startWebsite({
      '/': page('Start', '/docs/a', '/docs/b', '/docs/b?print=1', '/blog/c', '/docs/.hidden'),
      '/docs/a': page('A'),
      '/docs/b': page('B'),
      '/docs/b?print=1': page('B to print'),
      '/blog/c': page('C'),
      '/docs/.hidden': page('Hidden'),
    });
    const { host } = new URL(url);
    const site = await openSite([url], { include: [`${host}/`, '*/docs/*'], exclude: ['**/*print=*'] });
    expect((await site.crawl()).keys).toEqual([url, `${url}docs/a`, `${url}docs/b`]);
  });

  it('pages up to the depth, and up to the number of pages, which is reported', async () => {
    const chain = Array.from({ length: 9 }, (_, n): [string, string] => [`/${n}`, page(`Page ${n}`, `/${n + 1}`)]);
    const { url } = await startWebsite(Object.fromEntries(chain));
    const start = [`${url}0`];
    expect((await (await openSite([url], { start, depth: 3 })).crawl()).keys.length).toBe(4);
    const { keys, faults } = await (await openSite([url], { start, depth: 20, pages: 5 })).crawl();
    expect(keys.length).toBe(5);
    expect(faults).toEqual([{ key: `${url}0`, fault: expect.stringContaining('maximum of 5 pages') }]);
  });

  it('a page once under its canonical address, even if only another address is linked', async () => {
    const canonical = '<link rel="canonical" href="/item">';
    const { url, takePaths } = await startWebsite({
      '/': page('Start', '/item?sort=a', '/item?sort=b', '/lost?x=1'),
      '/item?sort=a': canonical + page('An item'),
      '/item?sort=b': canonical + page('An item'),
      '/item': canonical + page('An item'),
      '/lost?x=1': `<link rel="canonical" href="/not-there">${page('A page')}`,
    });
    const site = await openSite([url]);
    const { keys, texts } = await site.crawl();
    expect(keys).toEqual([url, `${url}item`, `${url}not-there`]);
    expect(texts.get(`${url}not-there`)).toContain('A page');
    expect(takePaths().filter((each) => each.startsWith('/item'))).toEqual(['/item', '/item?sort=a', '/item?sort=b']);
  });

  it('no page that forbids it, and no link that it forbids to follow', async () => {
    const { url } = await startWebsite({
      '/': page('Start', '/noindex', '/nofollow', '/header', '/other-bot', '/none'),
      '/noindex': `<meta name="ROBOTS" content="NoIndex">${page('A', '/linked')}`,
      '/linked': page('Linked'),
      '/nofollow': `<meta name="robots" content="nofollow">${page('B', '/unlinked')}`,
      '/unlinked': page('Never'),
      '/header': { headers: { 'x-robots-tag': 'otherbot: nofollow, service-crawler: noindex' }, body: page('C') },
      '/other-bot': { headers: { 'x-robots-tag': 'otherbot: noindex' }, body: page('D') },
      '/none': `<meta name="service-crawler" content="none">${page('E')}`,
    });
    const { keys } = await (await openSite([url])).crawl();
    expect(keys).toEqual([url, `${url}linked`, `${url}nofollow`, `${url}other-bot`]);
  });

  it('links of a Korean page in its own charset, and the bytes as they are', async () => {
    // "한글" in EUC-KR.
    const hangul = Buffer.from([0xc7, 0xd1, 0xb1, 0xdb]);
    const body = Buffer.concat([
      Buffer.from('<title>'),
      hangul,
      Buffer.from('</title><a href="/'),
      hangul,
      Buffer.from('">x</a>'),
    ]);
    const target = `/${encodeURIComponent('한글')}`;
    const { url } = await startWebsite({
      '/': { headers: { 'content-type': 'text/html; charset=euc-kr' }, body },
      [target]: page('Korean'),
    });
    const { keys, read } = await (await openSite([url])).crawl();
    expect(keys).toEqual([url, `${url}${target.slice(1)}`]);
    expect(read.get(url)).toMatchObject({ fileName: '한글.html', content: { bytes: body } });
  });
});

describe('robots.txt', () => {
  it('keeps the crawl from pages and names a sitemap', async () => {
    const { url, pages } = await startWebsite({
      '/': page('Start', '/private/a', '/b'),
      '/b': page('B'),
      '/c': page('C'),
    });
    pages.set('/robots.txt', `User-agent: *\nDisallow: /private\nSitemap: ${url}pages.xml\n`);
    pages.set('/pages.xml', `<urlset><url><loc>${url}c</loc></url><url><loc>${url}private/d</loc></url></urlset>`);
    expect((await (await openSite([url])).crawl()).keys).toEqual([url, `${url}b`, `${url}c`]);
  });

  it.each<[string, SiteAnswer, object]>([
    [
      'forbids everything',
      { body: 'User-agent: service-crawler\nDisallow: /' },
      { category: 'source_refused', message: /robots.txt forbids .+ to the crawler service-crawler; allow it there/ },
    ],
    [
      'answers 500',
      { status: 500 },
      { category: 'source_unavailable', retryable: true, message: /robots.txt answers 500/ },
    ],
    [
      'asks for a login',
      { status: 401 },
      { category: 'source_refused', message: /asks for a login \(401\); set headers or cookie/ },
    ],
  ])('ends the crawl with its reason if it %s', async (_what, answer, { message, ...fault }: { message?: RegExp }) => {
    const { url } = await startWebsite({ '/robots.txt': answer, '/': page('Start') });
    const crawl = (await openSite([url])).crawl();
    await expect(crawl).rejects.toMatchObject(fault);
    await expect(crawl).rejects.toThrow(message);
  });

  it('that is missing or refused allows everything', async () => {
    const { url } = await startWebsite({ '/robots.txt': { status: 403 }, '/': page('Start') });
    expect((await (await openSite([url])).crawl()).keys).toEqual([url]);
  });
});

describe('sitemaps', () => {
  it('of an index, with gzip, name pages, which need no request while their time stays', async () => {
    const { url, pages, takePaths } = await startWebsite({ '/a': page('A'), '/b': page('B'), '/c': page('C', '/d') });
    const map = (lastmod: string) =>
      gzipSync(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
        <url><loc> ${url}a </loc><lastmod>2024-05-01</lastmod><image:image><image:loc>${url}no</image:loc></image:image></url>
        <url><loc>${url}b</loc><lastmod>${lastmod}</lastmod></url><url><loc>${url}c</loc></url>
        <url><loc>https://elsewhere.example/</loc></url></urlset>`);
    pages.set('/sitemap.xml', `<sitemapindex><sitemap><loc>${url}s.xml.gz</loc></sitemap></sitemapindex>`);
    pages.set('/s.xml.gz', { headers: { 'content-type': 'application/gzip' }, body: map('2024-05-02T10:00:00Z') });
    const site = await openSite([url], { sitemap: 'only' });
    const keys = [`${url}a`, `${url}b`, `${url}c`];
    expect((await site.crawl()).keys).toEqual(keys);
    takePaths();
    const second = await site.crawl();
    expect(second.keys).toEqual(keys);
    expect(second.read.size).toBe(0);
    expect(takePaths()).toEqual(['/c', '/robots.txt', '/s.xml.gz', '/sitemap.xml']);
    pages.set('/b', page('B, second edition'));
    pages.set('/s.xml.gz', { headers: { 'content-type': 'application/gzip' }, body: map('2024-05-03T10:00:00Z') });
    expect([...(await site.crawl()).texts.values()]).toEqual([page('B, second edition')]);
  });

  it('that cannot be read end the crawl if pages come from them alone, and otherwise are reported', async () => {
    const { url, pages } = await startWebsite({ '/': page('Start') });
    const only = await openSite([url], { sitemap: 'only' });
    await expect(only.crawl()).rejects.toThrow('there is no sitemap at');
    pages.set('/sitemap.xml', '<urlset><url>');
    await expect(only.crawl()).rejects.toMatchObject({ category: 'source_unavailable' });
    const auto = await (await openSite([url])).crawl();
    expect(auto).toMatchObject({
      keys: [url],
      faults: [{ fault: expect.stringContaining('this sitemap cannot be read') }],
    });
  });
});

describe('a second crawl', () => {
  it('asks on condition, and reads nothing if nothing has changed', async () => {
    const answer =
      (body: string): SiteAnswer =>
      (request, response) => {
        const etag = `"${body.length}"`;
        response.setHeader('etag', etag).setHeader('content-type', 'text/html');
        if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
        else response.end(body);
      };
    const { url, pages, requests } = await startWebsite({
      '/': answer(page('Start', '/a')),
      '/a': answer(page('A', '/b')),
      '/b': answer(page('B')),
    });
    const site = await openSite([url]);
    expect((await site.crawl()).read.size).toBe(3);
    requests.splice(0);
    const second = await site.crawl();
    expect(second).toMatchObject({ keys: [url, `${url}a`, `${url}b`], faults: [] });
    expect(second.read.size).toBe(0);
    expect(requests.filter(({ headers }) => headers['if-none-match'] !== undefined).length).toBe(3);
    pages.set('/a', answer(page('A, changed', '/b')));
    expect([...(await site.crawl()).read.keys()]).toEqual([`${url}a`]);
  });

  it('takes a change of scripts, navigation or footers for no change, unless main_text is false', async () => {
    const body = (nth: number) => `<head><script>token = ${nth}</script></head><nav><a href="/${nth}">new</a></nav>
      <header>Day ${nth}</header><main><h1>Tides</h1>  <p>The harbour.</p></main><footer>${nth} visitors</footer>`;
    const { url, pages } = await startWebsite({ '/': body(1), '/1': gone, '/2': gone, '/3': gone });
    const site = await openSite([url]);
    const all = await openSite([url], { main_text: false });
    await Promise.all([site.crawl(), all.crawl()]);
    pages.set('/', body(2));
    expect((await site.crawl()).read.size).toBe(0);
    expect((await all.crawl()).read.size).toBe(1);
    pages.set('/', body(3).replace('harbour', 'harbor'));
    expect((await site.crawl()).read.size).toBe(1);
  });

  it('lists no page that is gone, and keeps those that fail with all that only they link to', async () => {
    const { url, pages } = await startWebsite({
      ...{ '/': page('Start', '/a', '/b', '/gone'), '/a': page('A', '/a/1'), '/a/1': page('A 1') },
      ...{ '/b': page('B'), '/gone': page('Gone') },
    });
    const site = await openSite([url]);
    expect((await site.crawl()).keys.length).toBe(5);
    pages.set('/gone', { status: 410 });
    pages.set('/a', { status: 500 });
    pages.set('/b', { status: 403 });
    const { keys, faults } = await site.crawl();
    expect(keys).toEqual([url, `${url}a/1`]);
    expect(faults.map(({ key }) => key).sort()).toEqual([`${url}a`, `${url}b`]);
    expect(faults.map(({ fault }) => fault).sort()).toEqual(['the site answers 500', 'the site refuses it (403)']);
  });

  it('keeps everything of the site if a page fails and the notes are lost', async () => {
    const { url, pages } = await startWebsite({
      '/': page('Start', '/a'),
      '/a': page('A', '/a/1'),
      '/a/1': page('A 1'),
    });
    const site = await openSite([url]);
    await site.crawl();
    site.state = Buffer.from('damaged');
    pages.set('/a', { status: 500 });
    const { faults } = await site.crawl();
    expect(faults).toEqual([{ key: new URL(url).origin, isFolder: true, fault: `${url}a: the site answers 500` }]);
  });

  it('keeps a page that redirects to a login for now, and drops one that has moved', async () => {
    const { url, pages } = await startWebsite({
      '/': page('Start', '/a', '/b'),
      '/a': page('A'),
      '/b': page('B'),
      '/login': page('Login'),
      '/c': page('C'),
    });
    const site = await openSite([url]);
    await site.crawl();
    pages.set('/a', { status: 302, headers: { location: '/login' } });
    pages.set('/b', { status: 301, headers: { location: '/c' } });
    const { keys, faults } = await site.crawl();
    expect(keys).toEqual([url, `${url}c`, `${url}login`]);
    expect(faults).toEqual([{ key: `${url}a`, fault: `the site redirects it to ${url}login temporarily` }]);
  });

  it('reads a page again that was listed but not read', async () => {
    const { url, pages } = await startWebsite({ '/': { headers: { etag: '"1"' }, body: page('Start') } });
    const first = await openSite([url]);
    await first.crawl();
    const later = await openSite([url]);
    later.state = first.state;
    pages.set('/', (request, response) => {
      response.setHeader('content-type', 'text/html');
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end();
      else response.end(page('Start'));
    });
    expect((await later.crawl()).texts.get(url)).toBe(page('Start'));
  });
});

it('secrets go to the sites of the connection alone, and no cookie of a site is sent back', async () => {
  const other = await startWebsite({ '/robots.txt': 'User-agent: *\nDisallow:' });
  const { url, requests } = await startWebsite({
    '/robots.txt': { status: 302, headers: { location: `${other.url}robots.txt` } },
    '/': { headers: { 'set-cookie': 'session=new' }, body: page('Start', '/a', `${other.url}b`) },
    '/a': page('A'),
  });
  const connection = { headers: { Authorization: 'Bearer windlass' }, cookie: 'session=capstan' };
  const { keys } = await (await openSite([url], {}, connection)).crawl();
  expect(keys).toEqual([url, `${url}a`]);
  for (const { headers } of requests) {
    expect(headers).toMatchObject({
      authorization: 'Bearer windlass',
      cookie: 'session=capstan',
      'user-agent': 'service-crawler/1.0',
    });
  }
  expect(other.requests.map(({ path: each }) => each)).toEqual(['/robots.txt']);
  expect(other.requests[0]?.headers).not.toMatchObject({ authorization: expect.anything() });
  expect(JSON.stringify(other.requests)).not.toMatch(/windlass|capstan/);
});

it('bodies are removed when the reader closes, and those of killed processes when another one opens', async () => {
  const { url } = await startWebsite({ '/': page('Start') });
  const site = await openSite([url]);
  await site.crawl();
  const folder = path.join(site.dataDir, 'crawls');
  expect(await readdir(folder)).toEqual([]);
  // No process has this id, and that of this process stands for an earlier process of a container.
  await writeFile(path.join(folder, `${hostname()}.4194305.left`), '');
  await writeFile(path.join(folder, `${hostname()}.${process.pid}.left`), '');
  await writeFile(path.join(folder, 'another-host.1.live'), '');
  await site.crawl();
  expect(await readdir(folder)).toEqual(['another-host.1.live']);
});
