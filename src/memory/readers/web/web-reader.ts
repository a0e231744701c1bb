import path from 'node:path';
import { fileNameOf } from '../../../platform/printable.ts';
import type { WebSettings } from '../../../platform/web-source-settings.ts';
import type { ConfigOf } from '../configs.ts';
import type { EntryFault, ListedEntry, ReadEntry, ReaderState, SourceReader } from '../source-reader.ts';
import { Crawl } from './crawl.ts';
import type { FoundPage } from './crawl-listing.ts';
import { type GetPageOptions, getPage, type PageContent } from './get-page.ts';
import { decodedPath } from './page-address.ts';
import { loadNotes, saveNotes } from './page-notes.ts';
import { Spool } from './spool.ts';
import { WebClient } from './web-client.ts';
import { openScope } from './web-scope.ts';

export interface WebReaderOptions {
  readonly web: WebSettings;
  readonly config: ConfigOf<'web'>;
  /** Maximum document size. */
  readonly bytesMax: number;
  readonly dataDir: string;
  readonly state: ReaderState;
  /** Time limit per page in milliseconds; default 30 s. */
  readonly pageMs?: number | undefined;
}

/**
 * Open websites as a source: the pages in sitemaps, and pages linked from a start. The text of a page determines its
 * version. Bodies are kept on disk from listing to reading, so that each page is requested once.
 */
export function openWebReader({ web, config, bytesMax, dataDir, state, pageMs }: WebReaderOptions): SourceReader {
  const { start, include, exclude, main_text: isMainText } = config;
  const scope = openScope({ sites: web.sites, start, globs: { include, exclude } });
  const client = new WebClient(web, pageMs);
  const robotName = web.userAgent.split('/', 1)[0] as string;
  let spool: Spool | null = null;
  let crawl: Crawl | null = null;
  const open = async (): Promise<GetPageOptions> => {
    spool ??= await Spool.open(dataDir);
    return { client, spool, isBodyNeeded: false, bytesMax, isMainText, robotName };
  };
  return {
    async *list(signal) {
      const known = await loadNotes(state);
      crawl = new Crawl({ ...(await open()), scope, config, userAgent: web.userAgent, known });
      yield* crawl.run(signal);
      await saveNotes(state, crawl.notes);
    },
    async read(entries, signal) {
      const options = await open();
      const read = await Promise.all(entries.map((entry) => readEntry(options, crawl, entry, signal)));
      return read.filter((entry) => entry !== null);
    },
    async close() {
      await client.close();
      await spool?.close();
    },
  };
}

async function readEntry(
  options: GetPageOptions,
  crawl: Crawl | null,
  { key }: ListedEntry,
  signal: AbortSignal,
): Promise<ReadEntry | EntryFault | null> {
  const found = crawl?.placeOf(key) ?? { url: new URL(key), content: null, eventTimeMs: null };
  if (found.content?.body != null) return toEntry(key, found, found.content);
  const outcome = await getPage({ ...options, isBodyNeeded: true }, found.url, null, signal);
  if (outcome.kind === 'page') return toEntry(key, found, outcome.page.content);
  if (outcome.kind === 'gone') return null;
  return { key, fault: outcome.kind === 'fault' ? outcome.fault : 'the site has changed it meanwhile' };
}

async function toEntry(key: string, { url, eventTimeMs }: FoundPage, content: PageContent): Promise<ReadEntry> {
  const { version, contentType, sizeBytes, body } = content;
  return {
    key,
    version,
    fileName: nameOf(url, content),
    contentType,
    content: sizeBytes === 0 ? null : ((await body?.content()) ?? null),
    sourcePath: key,
    metadata: { source_kind: 'web', source_url: key },
    eventTimeMs,
  };
}

/** Return a page's title as a file name, or else the last part of its address. */
function nameOf(url: URL, { isPage, title }: PageContent): string {
  const base = path.posix.basename(decodedPath(url)) || url.hostname;
  const name = isPage ? `${title ?? base.replace(/\.x?html?$/i, '')}.html` : base;
  const named = fileNameOf(name.toWellFormed());
  return named.length <= 255 ? named : `${named.slice(0, 200)}${path.posix.extname(named).slice(0, 16)}`;
}
