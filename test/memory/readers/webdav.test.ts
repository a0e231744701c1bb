import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Listing, SourceReader } from '../../../src/memory/readers/source-reader.ts';
import { openWebdavReader, type WebdavReaderOptions } from '../../../src/memory/readers/webdav/webdav-reader.ts';
import { Secret } from '../../../src/platform/secret.ts';
import type { WebdavSettings } from '../../../src/platform/webdav-settings.ts';
import { TEST_CA } from '../../support/certificates.ts';
import { type DavProxy, startDavProxy } from '../../support/dav-proxy.ts';
import { freePort } from '../../support/free-port.ts';
import { DAV_PASSWORD, DAV_USER, startWebdav, type TestWebdav, webdavAvailable } from '../../support/wsgidav.ts';

const NEVER = new AbortController().signal;

async function open(
  settings: Partial<WebdavSettings> & { readonly url: string },
  options: Partial<WebdavReaderOptions> = {},
): Promise<SourceReader> {
  const webdav = { login: { user: DAV_USER, password: new Secret(DAV_PASSWORD) }, ca: null, ...settings };
  const reader = await openWebdavReader({ webdav, path: '.', globs: {}, bytesMax: 50_000_000, ...options });
  onTestFinished(() => reader.close());
  return reader;
}

async function listAll(reader: SourceReader, signal = NEVER): Promise<Listing> {
  const listings: Listing[] = [];
  for await (const listing of reader.list(signal)) listings.push(listing);
  return {
    entries: listings.flatMap(({ entries }) => entries),
    faults: listings.flatMap(({ faults }) => faults),
  };
}

async function keysOf(reader: SourceReader): Promise<string[]> {
  return (await listAll(reader)).entries.map(({ key }) => key).toSorted();
}

/** Start a server that stands for WebDAV, on a free port of the loopback address. */
async function startFake(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/dav`;
}

const MULTISTATUS = '<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">';

function responseOf(href: string, properties: string): string {
  return `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${properties}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;
}

const COLLECTION = '<d:resourcetype><d:collection/></d:resourcetype>';

describe.skipIf(!webdavAvailable())('a folder on WsgiDAV', () => {
  let server: TestWebdav;
  let proxy: DavProxy;
  const write = (name: string, text = 'Text') => {
    mkdirSync(path.dirname(path.join(server.folder, name)), { recursive: true });
    writeFileSync(path.join(server.folder, name), text);
  };

  beforeAll(async () => {
    server = await startWebdav();
  });
  afterAll(() => server?.drop());
  beforeEach(async () => {
    proxy = await startDavProxy(server.url);
  });
  afterEach(async () => {
    await proxy.close();
    rmSync(server.folder, { recursive: true, force: true });
    mkdirSync(server.folder);
  });

  it('is listed with its folders, by path and patterns, and folders that are left out are not asked for', async () => {
    for (const name of ['a.md', 'b.txt', 'old/c.md', 'work/d.md', 'work/2024/e.md', 'work/.hidden/f.md']) write(name);
    const globs = { include: ['**/*.md'], exclude: ['old/**'] };
    expect(await keysOf(await open(proxy, { globs }))).toEqual(['a.md', 'work/2024/e.md', 'work/d.md']);
    expect(proxy.requests).not.toContain('PROPFIND /shared files/old/');
    expect(await keysOf(await open(proxy, { path: 'work/2024' }))).toEqual(['e.md']);
  });

  it('gives files with their names, times and bytes', async () => {
    const name = 'tides 100% #1/Öl & [기름]?.txt';
    write(name, 'The text.');
    const reader = await open(proxy);
    const { entries } = await listAll(reader);
    expect(entries).toMatchObject([{ key: name, sizeBytes: 9, version: expect.stringMatching(/^.+-9$/) }]);
    const [read] = await reader.read(entries, NEVER);
    expect(read).toMatchObject({
      ...{ key: name, fileName: 'Öl & [기름]?.txt', sourcePath: name, metadata: { source_kind: 'webdav' } },
      ...{ content: { bytes: Buffer.from('The text.') }, eventTimeMs: entries[0]?.eventTimeMs },
    });
  });

  it('keeps the Unicode form of names', async () => {
    for (const name of ['Caf\u00e9.txt', 'Cafe\u0301.txt', 'Cafe\u0301/a.txt']) write(name);
    const reader = await open(proxy);
    const { entries } = await listAll(reader);
    expect(entries.map(({ key }) => key).toSorted()).toEqual(['Cafe\u0301.txt', 'Cafe\u0301/a.txt', 'Caf\u00e9.txt']);
    expect(await reader.read(entries, NEVER)).toHaveLength(3);
  });

  it('omits a file that is gone before it is read', async () => {
    write('a.txt');
    const reader = await open(proxy);
    const { entries } = await listAll(reader);
    rmSync(path.join(server.folder, 'a.txt'));
    expect(await reader.read(entries, NEVER)).toEqual([]);
  });

  it('reports files that are locked, refused or broken, and reads the others', async () => {
    for (const name of ['broken.txt', 'fine.txt', 'locked.txt', 'refused.txt']) write(name);
    for (const [name, status] of [
      ['broken', 500],
      ['locked', 423],
      ['refused', 403],
    ] as const)
      proxy.answers.set(`GET /shared files/${name}.txt`, (_request, response) => response.writeHead(status).end());
    const reader = await open(proxy);
    const read = await reader.read((await listAll(reader)).entries, NEVER);
    expect(read.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
      { key: 'broken.txt', fault: 'the server refuses to send it (500)' },
      expect.objectContaining({ key: 'fine.txt', content: { bytes: Buffer.from('Text') } }),
      { key: 'locked.txt', fault: 'it is locked; synchronise again later (423)' },
      { key: 'refused.txt', fault: 'the user of the connection may not read it (403)' },
    ]);
  });

  it('reports a folder that may not be listed, so that its documents stay', async () => {
    for (const name of ['a.txt', 'secret/b.txt']) write(name);
    for (const status of [403, 503]) {
      proxy.answers.set('/shared files/secret/', (_request, response) => response.writeHead(status).end());
      expect(await listAll(await open(proxy))).toMatchObject({
        entries: [{ key: 'a.txt' }],
        faults: [{ key: 'secret', isFolder: true, fault: expect.stringContaining(String(status)) }],
      });
    }
  });

  it('waits as long as a busy server asks for, and ends if that is too long', async () => {
    write('a.txt');
    let left = 2;
    proxy.answers.set('GET /shared files/a.txt', (_request, response) => {
      if (--left === 0) proxy.answers.clear();
      response.writeHead(429, { 'retry-after': '0' }).end();
    });
    const reader = await open(proxy);
    const { entries } = await listAll(reader);
    expect(await reader.read(entries, NEVER)).toMatchObject([{ content: { bytes: Buffer.from('Text') } }]);
    proxy.answers.set('/shared files/', (_request, response) => {
      response.writeHead(503, { 'retry-after': '3600' }).end('<s:message>Maintenance mode</s:message>');
    });
    await expect(listAll(reader)).rejects.toMatchObject({
      ...{ category: 'source_unavailable', retryable: true },
      message: expect.stringMatching(/cannot be read now \(status 503: Maintenance mode\); it asks to wait for 3600$/),
    });
  });

  it('follows redirects on the same origin only', async () => {
    write('work/a.txt');
    proxy.answers.set('/old/', (_request, response) => {
      response.writeHead(301, { location: '/shared%20files/work/' }).end();
    });
    expect(await keysOf(await open({ url: new URL('/old', proxy.url).href }))).toEqual(['a.txt']);
    proxy.answers.set('/old/', (_request, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end();
    });
    await expect(keysOf(await open({ url: new URL('/old', proxy.url).href }))).rejects.toMatchObject({
      ...{ category: 'source_settings', message: expect.stringContaining('redirects to http://127.0.0.1:1;') },
    });
    proxy.answers.set('/shared files/work/a.txt', (_request, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/signed' }).end();
    });
    const reader = await open(proxy);
    expect(await reader.read((await listAll(reader)).entries, NEVER)).toEqual([
      { key: 'work/a.txt', fault: expect.stringContaining('redirects to http://127.0.0.1:1;') },
    ]);
  });

  it('with a wrong password, a wrong path or no server is a fault that says what to check', async () => {
    write('a.txt');
    const login = { user: DAV_USER, password: new Secret('a wrong one') };
    await expect(listAll(await open({ ...proxy, login }))).rejects.toMatchObject({
      ...{ category: 'source_refused', message: expect.stringContaining('check user, password and token') },
    });
    await expect(listAll(await open(proxy, { path: 'nowhere' }))).rejects.toMatchObject({
      ...{ category: 'source_missing', message: expect.stringContaining('/nowhere/ (status 404); check url and path') },
    });
    await expect(listAll(await open(proxy, { path: 'a.txt' }))).rejects.toMatchObject({ category: 'source_missing' });
    await expect(listAll(await open({ url: `http://127.0.0.1:${await freePort()}/dav` }))).rejects.toMatchObject({
      ...{ category: 'source_unavailable', retryable: true, message: expect.stringContaining('nothing listens there') },
    });
  });

  it('is read over TLS if ca trusts its certificate', async () => {
    const secured = await startWebdav({ isTls: true });
    onTestFinished(() => secured.drop());
    writeFileSync(path.join(secured.folder, 'a.txt'), 'Text');
    expect(await keysOf(await open({ url: secured.url, ca: TEST_CA }))).toEqual(['a.txt']);
    await expect(keysOf(await open({ url: secured.url }))).rejects.toMatchObject({
      ...{ category: 'source_unavailable', message: expect.stringContaining('set ca of the connection') },
    });
  });

  it('keeps the documents of a tree whose outermost folder is away', async () => {
    rmSync(server.folder, { recursive: true });
    await expect(listAll(await open(proxy))).rejects.toMatchObject({ category: expect.stringMatching(/^source_/) });
  });
});

describe('a listing', () => {
  it('of 100,000 files in one folder arrives in parts', async () => {
    const files = 100_000;
    const url = await startFake((_request, response) => {
      response.writeHead(207, { 'content-type': 'application/xml' });
      response.write(MULTISTATUS + responseOf('/dav/', COLLECTION));
      let nth = 0;
      const writeMore = () => {
        while (nth < files) {
          const next = Array.from({ length: 100 }, () =>
            responseOf(
              `/dav/${nth}.txt`,
              `<d:getetag>"${nth++}"</d:getetag><d:getcontentlength>9</d:getcontentlength>`,
            ),
          );
          if (!response.write(next.join(''))) return void response.once('drain', writeMore);
        }
        response.end('</d:multistatus>');
      };
      writeMore();
    });
    let total = 0;
    let largest = 0;
    for await (const { entries } of (await open({ url })).list(NEVER)) {
      total += entries.length;
      largest = Math.max(largest, entries.length);
    }
    expect(total).toBe(files);
    expect(largest).toBeLessThan(2_000);
  });

  it('of a tree without end is a fault', async () => {
    const url = await startFake((request, response) => {
      const own = request.url ?? '';
      const children = ['loop', 'loop2'].map((name) => responseOf(`${own}${name}/`, COLLECTION)).join('');
      response.writeHead(207).end(`${MULTISTATUS}${responseOf(own, COLLECTION)}${children}</d:multistatus>`);
    });
    await expect(listAll(await open({ url }, { foldersMax: 200 }))).rejects.toMatchObject({
      ...{ category: 'source_too_large', message: expect.stringContaining('grows without end') },
    });
  });

  it('leaves out addresses that lead out of the folder, and reports names that cannot be read', async () => {
    const url = await startFake((_request, response) => {
      const hrefs = ['/dav/../etc', '/dav/%2e%2e/x', '/other/a.txt', '/dav/a/b.txt', 'http://elsewhere/dav/c.txt'];
      const odd = ['/dav/%ff.txt', '/dav/a%2Fb.txt', '/dav/a%0Ab.txt', `/dav/${'x'.repeat(1_100)}`];
      const responses = [...hrefs, ...odd].map((href) =>
        responseOf(href, '<d:getcontentlength>1</d:getcontentlength>'),
      );
      response.writeHead(207).end(`${MULTISTATUS}${responses.join('')}</d:multistatus>`);
    });
    const { entries, faults } = await listAll(await open({ url }));
    expect(entries.map(({ key }) => key)).toEqual(['c.txt']);
    expect(faults.map(({ fault }) => fault.replace(/[,;].*/, ''))).toEqual([
      'its name is not UTF-8',
      'its name has a slash',
      'its name has a line break or another control character',
      'its name is longer than 1024 bytes',
    ]);
  });

  it.each([
    ['that breaks off', `${MULTISTATUS}${responseOf('/dav/', COLLECTION)}`],
    ['that is no XML', '<html><p>Sign in<br></html>'],
    ['of another kind', '<d:error xmlns:d="DAV:"/>'],
    ['with an endless name', `${MULTISTATUS}<d:response><d:href>${'x'.repeat(3_000_000)}`],
    ['with entities', `<!DOCTYPE d [<!ENTITY a "aaaa">]>${MULTISTATUS}<d:response><d:href>&a;</d:href>`],
  ])('%s is a fault, so that nothing is removed', async (_what, body) => {
    const url = await startFake((_request, response) => void response.writeHead(207).end(body));
    await expect(listAll(await open({ url }))).rejects.toMatchObject({
      ...{ category: 'source_unavailable', message: expect.stringContaining('sends a listing that cannot be read') },
    });
  });

  it('of a server that asks for another way to log in says so', async () => {
    const url = await startFake((_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Digest realm="x"' }).end();
    });
    await expect(listAll(await open({ url }))).rejects.toThrow(
      'asks for Digest, but the service supports only Basic and Bearer',
    );
  });

  it('with a token sends it, and a file without an ETag has its size and time as version', async () => {
    const authorizations = new Set<unknown>();
    const time = 'Fri, 01 Mar 2024 12:00:00 GMT';
    const properties = `<d:getlastmodified>${time}</d:getlastmodified><d:getcontentlength>4</d:getcontentlength>`;
    let date = 'Fri, 01 Mar 2024 13:00:00 GMT';
    const url = await startFake((request, response) => {
      authorizations.add(request.headers.authorization);
      if (request.method === 'GET') return void response.writeHead(200, { date }).end('Text');
      response.writeHead(207).end(`${MULTISTATUS}${responseOf('/dav/a.txt', properties)}</d:multistatus>`);
    });
    const reader = await open({ url, login: { token: new Secret('guillemot') } });
    const { entries } = await listAll(reader);
    const version = `4-${Date.parse(time)}`;
    expect(entries).toEqual([{ key: 'a.txt', version, sizeBytes: 4, eventTimeMs: Date.parse(time) }]);
    expect(await reader.read(entries, NEVER)).toMatchObject([{ version }]);
    // A file may change again in the second in which it was changed.
    date = 'Fri, 01 Mar 2024 12:00:01 GMT';
    expect(await reader.read(entries, NEVER)).toMatchObject([{ version: `${version}?` }]);
    expect([...authorizations]).toEqual(['Bearer guillemot']);
  });

  it('ends when the signal aborts', async () => {
    const controller = new AbortController();
    const url = await startFake((_request, response) => {
      response.writeHead(207).write(MULTISTATUS);
      controller.abort(new Error('enough'));
    });
    await expect(listAll(await open({ url }), controller.signal)).rejects.toThrow('enough');
  });
});
