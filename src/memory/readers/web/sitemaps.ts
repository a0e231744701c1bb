import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parseXml } from '../../../ingest/extract/archive/xml.ts';
import { getFollowing } from './get-text.ts';
import { pageAddress } from './page-address.ts';
import type { WebClient } from './web-client.ts';

/** Protocol limits of a sitemap: uncompressed bytes, and addresses. */
const SITEMAP_BYTES_MAX = 50 * 1024 * 1024;
/** Maximum numbers of sitemaps and of their addresses per source. */
const SITEMAPS_MAX = 200;
const ADDRESSES_MAX = 200_000;
const TEXT_CHARS_MAX = 4_096;

/** Page listed in a sitemap. */
export interface SitemapPage {
  readonly url: URL;
  /** Text of `lastmod`, or null. */
  readonly lastmod: string | null;
}

/** Sitemap that was read or failed. */
export interface Sitemap {
  readonly url: URL;
  /** Pages within the scope of the source. */
  readonly pages: readonly SitemapPage[];
  /** Reason why the sitemap couldn't be read completely; null if it could. */
  readonly fault: string | null;
}

/**
 * Read sitemaps and those that they refer to (https://www.sitemaps.org/protocol.html), including gzipped ones. Skip
 * missing sitemaps.
 * @param mayRead returns false for sitemaps on other sites or forbidden ones
 * @param includes returns true for pages to return
 * @throws the reason of the signal
 */
export async function* readSitemaps(
  client: WebClient,
  first: readonly URL[],
  { mayRead, includes }: { readonly mayRead: (url: URL) => boolean; readonly includes: (url: URL) => boolean },
  signal: AbortSignal,
): AsyncGenerator<Sitemap> {
  const queue = [...new Map(first.map((url) => [url.href, url])).values()].filter(mayRead);
  const known = new Set(queue.map(({ href }) => href));
  let count = 0;
  for (let next = 0; next < Math.min(queue.length, SITEMAPS_MAX) && count < ADDRESSES_MAX; next++) {
    const url = queue[next] as URL;
    const pages: SitemapPage[] = [];
    const found: Found = (kind, page) => {
      if (kind === 'url') {
        if (count >= ADDRESSES_MAX || !includes(page.url)) return;
        count++;
        pages.push(page);
      } else if (!known.has(page.url.href) && queue.length < SITEMAPS_MAX && mayRead(page.url)) {
        known.add(page.url.href);
        queue.push(page.url);
      }
    };
    try {
      if (await readSitemap(client, url, signal, found)) yield { url, pages, fault: null };
    } catch (error) {
      signal.throwIfAborted();
      yield { url, pages, fault: (error as Error).message };
    }
  }
}

type Found = (kind: 'url' | 'sitemap', page: SitemapPage) => void;

/** Read one sitemap. @returns false if there is none @throws RequestFailure, ExtractError */
async function readSitemap(client: WebClient, address: URL, signal: AbortSignal, found: Found): Promise<boolean> {
  const reply = await getFollowing(client, address, signal);
  if (reply.status !== 200) {
    await reply.discard();
    if (reply.status === 404 || reply.status === 410) return false;
    throw new Error(`it answers ${reply.status}`);
  }
  reply.allowFile();
  const path: string[] = [];
  let location = '';
  let lastmod = '';
  await parseXml(uncompressed(reply.body(SITEMAP_BYTES_MAX)), {
    open(name) {
      path.push(name.slice(name.lastIndexOf(':') + 1));
      if (path.length === 2) location = lastmod = '';
    },
    text(text) {
      // Images and videos of a page also have `loc` elements, one level deeper.
      if (path.length !== 3) return;
      if (path[2] === 'loc' && location.length < TEXT_CHARS_MAX) location += text;
      if (path[2] === 'lastmod' && lastmod.length < TEXT_CHARS_MAX) lastmod += text;
    },
    close() {
      const kind = path.length === 2 ? path[1] : null;
      path.pop();
      if (kind !== 'url' && kind !== 'sitemap') return;
      const url = pageAddress(location, address);
      if (url !== null) found(kind, { url, lastmod: lastmod.trim() || null });
    },
  });
  return true;
}

/** Decompress gzip, whatever the name and type, up to the sitemap size limit. Pass on other data unchanged. */
async function* uncompressed(body: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await body.next();
  if (first.done === true) return;
  const isGzip = first.value[0] === 0x1f && first.value[1] === 0x8b;
  const whole = prepend(first.value, body);
  if (!isGzip) return yield* whole;
  let bytes = 0;
  for await (const chunk of pipeline(Readable.from(whole), createGunzip(), () => undefined) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > SITEMAP_BYTES_MAX) throw new Error(`it has more than ${SITEMAP_BYTES_MAX} bytes`);
    yield chunk;
  }
}

async function* prepend(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
