import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFolderReader } from '../../../src/memory/readers/folder-reader.ts';
import { openS3Reader } from '../../../src/memory/readers/s3-reader.ts';
import type { SourceReader } from '../../../src/memory/readers/source-reader.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { Secret } from '../../../src/platform/secret.ts';

/** Start a store whose listings never end. It answers each page with the token of `tokenOf`. */
async function startStore(tokenOf: (page: number) => string): Promise<{ endpoint: string; pages: () => number }> {
  let pages = 0;
  const server = createServer((_request, response) => {
    pages++;
    response.setHeader('Content-Type', 'application/xml').end(`<?xml version="1.0"?>
      <ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated>
      <NextContinuationToken>${tokenOf(pages)}</NextContinuationToken>
      <Contents><Key>${pages}.bin</Key><Size>1</Size><ETag>"e"</ETag></Contents></ListBucketResult>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, pages: () => pages };
}

function openStore(endpoint: string): SourceReader {
  const reader = openS3Reader({
    s3: {
      ...{ endpoint, bucket: 'b', prefix: '', region: 'us-east-1', pathStyle: true },
      credentials: { accessKeyId: new Secret('id'), secretAccessKey: new Secret('secret'), sessionToken: null },
    },
    ...{ prefix: '', globs: { include: ['*.txt'] }, bytesMax: 1_000, pagesMax: 50, logger: openLogger('silent') },
  });
  onTestFinished(() => reader.close());
  return reader;
}

/** Read a listing to its end. */
async function listAll(reader: SourceReader): Promise<void> {
  for await (const _ of reader.list(new AbortController().signal));
}

test.each([
  ['repeats its continuation token', () => 'same', 2],
  ['leads in a circle', (page: number) => `token-${page % 7}`, 8],
] as const)('the listing of a store that %s ends with a fault', async (_what, tokenOf, pages) => {
  const store = await startStore(tokenOf);
  await expect(listAll(openStore(store.endpoint))).rejects.toThrow('repeats a continuation token');
  expect(store.pages()).toBe(pages);
});

test('the listing of a store that always has another page ends with a fault', async () => {
  const store = await startStore((page) => `token-${page}`);
  await expect(listAll(openStore(store.endpoint))).rejects.toThrow('more than 50 pages');
  expect(store.pages()).toBe(50);
});

test('the listing with more folders than are allowed ends with a fault', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'service-test-endless-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await Promise.all(Array.from({ length: 1_100 }, (_, n) => mkdir(path.join(root, `${n}`, 'in'), { recursive: true })));
  const options = { root, path: '.', globs: {}, dataDir: path.join(root, 'data'), bytesMax: 1 };
  await listAll(openFolderReader({ ...options, slicesMax: 10 }));
  await expect(listAll(openFolderReader({ ...options, slicesMax: 2 }))).rejects.toThrow('grows without end');
});
