import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { CONFIG_BY_TYPE } from '../../src/memory/readers/configs.ts';
import type { EntryFault, ListedEntry, ReadEntry, ReaderState } from '../../src/memory/readers/source-reader.ts';
import { openWebReader } from '../../src/memory/readers/web/web-reader.ts';
import { webFields, webSettingsOf } from '../../src/platform/web-source-settings.ts';

/** Source of one website that a test can synchronise repeatedly without a database. */
export interface CrawledSite {
  /** Folder of the data directory. */
  readonly dataDir: string;
  /** State between crawls; null before the first one. */
  state: Buffer | null;
  /** Crawl, and read the entries with a new version. */
  crawl(signal?: AbortSignal): Promise<Crawled>;
}

export interface Crawled {
  /** Keys of all entries, sorted. */
  readonly keys: readonly string[];
  readonly entries: readonly ListedEntry[];
  readonly faults: readonly EntryFault[];
  /** Entries that were new or changed, by key. */
  readonly read: ReadonlyMap<string, ReadEntry>;
  /** Texts of the entries that were read, by key. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Open a source of a website.
 *
 * @param connection settings of the connection; by default the loopback address is allowed, and requests aren't slowed
 * @param options limits other than those of the product
 */
export async function openSite(
  sites: readonly string[],
  config: Record<string, unknown> = {},
  connection: Record<string, unknown> = {},
  options: { readonly bytesMax?: number; readonly pageMs?: number } = {},
): Promise<CrawledSite> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'service-test-site-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const defaults = { sites, networks: ['127.0.0.1'], requests_per_second: 10_000 };
  const web = webSettingsOf(z.strictObject(webFields).parse({ ...defaults, ...connection }));
  const versions = new Map<string, string>();
  const site: CrawledSite = {
    dataDir,
    state: null,
    async crawl(signal = new AbortController().signal) {
      const state: ReaderState = {
        load: async () => site.state,
        save: async (saved) => {
          site.state = Buffer.from(saved);
        },
      };
      const reader = openWebReader({
        ...{ web, config: CONFIG_BY_TYPE.web.parse(config), dataDir, state },
        ...{ bytesMax: options.bytesMax ?? 10_000_000, pageMs: options.pageMs },
      });
      const entries: ListedEntry[] = [];
      const faults: EntryFault[] = [];
      try {
        for await (const listing of reader.list(signal)) {
          entries.push(...listing.entries);
          faults.push(...listing.faults);
        }
        const changed = entries.filter(({ key, version }) => versions.get(key) !== version);
        const results = await reader.read(changed, signal);
        faults.push(...results.filter((each): each is EntryFault => 'fault' in each));
        const read = new Map(results.flatMap((each) => ('version' in each ? [[each.key, each] as const] : [])));
        for (const { key, version } of read.values()) versions.set(key, version);
        const texts = new Map<string, string>();
        for (const [key, { content }] of read) texts.set(key, await textOf(content));
        return { keys: entries.map(({ key }) => key).sort(), entries, faults, read, texts };
      } finally {
        await reader.close();
      }
    },
  };
  return site;
}

async function textOf(content: ReadEntry['content']): Promise<string> {
  if (content === null) return '';
  if ('bytes' in content) return Buffer.from(content.bytes).toString('utf8');
  const parts: Buffer[] = [];
  for await (const part of content.openStream()) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
