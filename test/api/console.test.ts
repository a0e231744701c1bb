import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Route, RouteReply } from '../../server/route.ts';
import { consoleRoutes } from '../../server/routes/console.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

const SCRIPT = `${'console.log("a");'.repeat(100)}\n`;
let test: TestApi;
let built: string;
let routes: Route[];
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  built = `${mkdtempSync(path.join(tmpdir(), 'service-console-'))}/`;
  mkdirSync(path.join(built, 'assets'));
  writeFileSync(path.join(built, 'index.html'), '<!doctype html><title>Console</title>');
  writeFileSync(path.join(built, 'assets', 'app-1234.js'), SCRIPT);
  writeFileSync(path.join(built, 'assets', 'app-1234.js.br'), brotliCompressSync(SCRIPT));
  for (const name of ['app-5678.js', 'app-5678.js.br']) {
    copyFileSync(path.join(built, 'assets', name.replace('5678', '1234')), path.join(built, 'assets', name));
  }
  writeFileSync(path.join(built, 'secret.txt'), 'secret');
  routes = consoleRoutes(built);
});
afterAll(async () => {
  rmSync(built, { recursive: true });
  await test.close();
});

/** Ask a route of the console in a folder for a file or page. */
async function ask(operation: string, params: Record<string, string> = {}, encodings = ''): Promise<RouteReply> {
  const route = routes.find(({ operationId }) => operationId === operation);
  return (route as NonNullable<typeof route>).handle({ params, encodings } as never);
}

it('the pages run nothing but scripts of this origin, are not stored, and are framed by nobody', async () => {
  for (const reply of [await ask('showConsole'), await ask('showConsolePage', { page: 'documents/doc_1' })]) {
    expect(String(reply.body)).toContain('<title>Console</title>');
    const policy = String(reply.headers?.['Content-Security-Policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("base-uri 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*|blob:/);
    expect(reply.headers?.['Cache-Control']).toBe('no-store');
  }
});

it('files with a hash in their name may be kept for ever, and are compressed for those who accept it', async () => {
  const plain = await ask('getConsoleAsset', { file: 'app-1234.js' }, 'gzip');
  expect([plain.type, String(plain.body)]).toEqual(['text/javascript; charset=utf-8', SCRIPT]);
  expect(plain.headers).toMatchObject({ 'Cache-Control': 'public, max-age=31536000, immutable' });
  const small = await ask('getConsoleAsset', { file: 'app-1234.js' }, 'gzip, br');
  expect(small.headers).toMatchObject({ 'Content-Encoding': 'br', Vary: 'Accept-Encoding' });
  expect(String(brotliDecompressSync(small.body as Buffer))).toBe(SCRIPT);
});

it('the process holds a file once, however many requests ask for it at the same time', async () => {
  const replies = await Promise.all(
    Array.from({ length: 300 }, () => ask('getConsoleAsset', { file: 'app-5678.js' }, 'br')),
  );
  expect(String(brotliDecompressSync(replies[0]?.body as Buffer))).toBe(SCRIPT);
  expect(new Set(replies.map(({ body }) => body)).size).toBe(1);
  const later = await ask('getConsoleAsset', { file: 'app-5678.js' }, 'br');
  expect(later.body).toBe(replies[0]?.body);
});

it.each(['../index.html', '..%2findex.html', '.env', 'app-1234', '/etc/passwd', 'missing.js', 'a\0.js', 'secret.txt'])(
  'no file outside of the folder is served: %s',
  async (file) => {
    await expect(ask('getConsoleAsset', { file })).rejects.toMatchObject({ status: 404 });
  },
);

it('a name with an extension is no page', async () => {
  await expect(ask('showConsolePage', { page: 'favicon.ico' })).rejects.toMatchObject({ status: 404 });
});

it('the server answers the addresses of the console: the page, or the advice to build it', async () => {
  for (const address of ['/console', '/console/search', '/console/documents/doc_1/more']) {
    const { status, headers, body } = await test.call('GET', address);
    expect([200, 503]).toContain(status);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    if (status === 503) expect(body.detail).toContain('npm run build:console');
  }
  expect((await test.call('GET', '/console/assets/missing.js')).status).toBe(404);
  expect((await test.call('GET', '/console/assets/..%2f..%2fpackage.json')).status).toBe(404);
  expect((await test.call('POST', '/console', { json: {} })).status).toBe(405);
});
