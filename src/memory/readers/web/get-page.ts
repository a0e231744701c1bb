import { createHash } from 'node:crypto';
import { redirectOf } from './get-text.ts';
import { type PageFacts, PageReader } from './page-facts.ts';
import type { PageNote } from './page-notes.ts';
import { NO_RULES, type PageRules, parseRules, stricter } from './page-rules.ts';
import { type ContentType, readContentType } from './page-types.ts';
import { RequestFailure } from './request-failure.ts';
import type { Spool, SpooledBody } from './spool.ts';
import type { WebClient, WebReply } from './web-client.ts';

/** Maximum size of a page with links, in bytes. Other files have the limit of documents. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;
/** Status codes of pages that don't exist, permanently or for now. */
const GONE = new Set([404, 410]);

/** Content of a page or file. */
export interface PageContent {
  readonly version: string;
  /** Body on disk; null if not kept. */
  readonly body: SpooledBody | null;
  readonly sizeBytes: number;
  readonly contentType: string | null;
  /** True for an HTML page, false for any other file. */
  readonly isPage: boolean;
  readonly title: string | null;
}

/** Page or file as read, with the data that the crawl needs. */
export interface GotPage {
  readonly content: PageContent;
  /** Facts of an HTML page; null for any other file. */
  readonly facts: PageFacts | null;
  readonly rules: PageRules;
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** Result of requesting a page. */
export type PageOutcome =
  | { readonly kind: 'page'; readonly page: GotPage }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'redirect'; readonly to: URL | null; readonly isPermanent: boolean }
  | { readonly kind: 'gone'; readonly status: number }
  /** A response that isn't a document, such as an image. */
  | { readonly kind: 'other' }
  | { readonly kind: 'fault'; readonly fault: string; readonly status: number | null; readonly isDown: boolean };

export interface GetPageOptions {
  readonly client: WebClient;
  readonly spool: Spool;
  /** False to drop the body if there is no space for it. */
  readonly isBodyNeeded: boolean;
  /** Maximum document size. */
  readonly bytesMax: number;
  readonly isMainText: boolean;
  /** Crawler name for the robots rules of pages. */
  readonly robotName: string;
}

/**
 * Request a page, conditionally on a change since its note. Return failures instead of throwing them.
 * @throws the reason of the signal, disk errors
 */
export async function getPage(
  options: GetPageOptions,
  url: URL,
  note: PageNote | null,
  signal: AbortSignal,
): Promise<PageOutcome> {
  try {
    const outcome = await outcomeOf(options, await options.client.get(url, conditionsOf(note), signal));
    if (outcome.kind !== 'unchanged' || note !== null) return outcome;
    return { kind: 'fault', fault: faultOf(304), status: 304, isDown: false };
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    return { kind: 'fault', fault: error.message, status: null, isDown: error.isDown };
  }
}

/** Build the headers of a conditional request (RFC 9110, section 13.1). */
function conditionsOf(note: PageNote | null): Record<string, string> {
  return {
    ...(note?.etag == null ? {} : { 'if-none-match': note.etag }),
    ...(note?.lastModified == null ? {} : { 'if-modified-since': note.lastModified }),
  };
}

async function outcomeOf(options: GetPageOptions, reply: WebReply): Promise<PageOutcome> {
  const { status, url } = reply;
  if (status === 200) {
    const type = readContentType(reply.header('content-type'), url);
    if (type.kind !== 'other') return { kind: 'page', page: await readPage(options, reply, type) };
    await reply.discard();
    return { kind: 'other' };
  }
  await reply.discard();
  if (status === 304) return { kind: 'unchanged' };
  if (GONE.has(status)) return { kind: 'gone', status };
  if (status >= 300 && status < 400) {
    return { kind: 'redirect', to: redirectOf(reply), isPermanent: status === 301 || status === 308 };
  }
  if (status === 204 || status === 205) return { kind: 'other' };
  return { kind: 'fault', fault: faultOf(status), status, isDown: status >= 500 || status === 429 };
}

function faultOf(status: number): string {
  if (status === 401 || status === 403) return `the site refuses it (${status})`;
  if (status === 429) return 'the site gets too many requests (429); lower requests_per_second';
  return `the site answers ${status}`;
}

/** Read the body of a page into a file. @throws RequestFailure */
async function readPage(
  { spool, isBodyNeeded, bytesMax, isMainText, robotName }: GetPageOptions,
  reply: WebReply,
  { kind, charset }: ContentType,
): Promise<GotPage> {
  const { url } = reply;
  const max = kind === 'page' ? Math.min(PAGE_BYTES_MAX, bytesMax) : bytesMax;
  if (kind === 'file') reply.allowFile();
  const reader = kind === 'page' ? new PageReader({ url, charset, isMainText, robotName }) : null;
  const hash = createHash('sha256');
  const body = spool.isFull && !isBodyNeeded ? null : await spool.create();
  let sizeBytes = 0;
  try {
    for await (const chunk of reply.body(max)) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      reader?.write(chunk);
      await body?.write(chunk);
    }
    await body?.end();
  } catch (error) {
    await body?.end();
    await body?.remove();
    throw error;
  }
  const facts = reader?.end() ?? null;
  const header = reply.header('x-robots-tag');
  const content: PageContent = {
    version: facts === null ? `bytes:${hash.digest('hex')}` : `text:${facts.textHash}`,
    body,
    sizeBytes,
    contentType: reply.header('content-type'),
    isPage: facts !== null,
    title: facts?.title ?? null,
  };
  return {
    content,
    facts,
    rules: stricter(facts?.rules ?? NO_RULES, header === null ? NO_RULES : parseRules(header, robotName)),
    etag: reply.header('etag'),
    lastModified: reply.header('last-modified'),
  };
}
