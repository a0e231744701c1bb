import { z } from 'zod';
import type { NotionConnection } from '../../../platform/cloud-source-settings.ts';
import { fileNameOf } from '../../../platform/printable.ts';
import { type ListedEntry, SourceFault, type SourceReader } from '../source-reader.ts';
import { ApiClient } from './api-client.ts';
import { readEach } from './list-read.ts';

const VERSION = '2026-03-11';
const PAGE_ROWS = 100;

const Title = z.object({ type: z.literal('title'), title: z.array(z.object({ plain_text: z.string() })) });
const FoundPages = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      url: z.string(),
      last_edited_time: z.iso.datetime({ offset: true }),
      in_trash: z.boolean().optional(),
      properties: z.record(z.string(), z.unknown()).default({}),
    }),
  ),
  next_cursor: z.string().nullable(),
});
const Markdown = z.object({ markdown: z.string() });

interface FoundPage {
  readonly title: string;
  readonly url: string;
  readonly timeMs: number;
}

/**
 * Open the pages shared with a Notion integration as a source, as Markdown (developers.notion.com/reference, version
 * 2026-03-11). The time of the last edit shows whether a page changed.
 */
export function openNotionReader({ url, token }: NotionConnection): SourceReader {
  const headers = { authorization: `Bearer ${token.reveal()}`, 'notion-version': VERSION };
  const api = new ApiClient({ origin: url, name: 'Notion', authorize: async () => headers });
  const found = new Map<string, FoundPage>();
  return {
    async *list(signal) {
      const seen = new Set<string>();
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const body = { filter: { property: 'object', value: 'page' }, page_size: PAGE_ROWS, start_cursor: cursor };
        const reply: z.output<typeof FoundPages> = await api.post('/v1/search', body, FoundPages, signal);
        const pages = reply.results.filter((page) => page.in_trash !== true);
        yield {
          faults: [],
          entries: pages.map(({ id, url: address, last_edited_time: edited, properties }): ListedEntry => {
            const timeMs = Date.parse(edited);
            found.set(id, { title: titleOf(properties), url: address, timeMs });
            return { key: id, version: edited, sizeBytes: 0, eventTimeMs: timeMs };
          }),
        };
        cursor = reply.next_cursor;
        if (cursor !== null && seen.has(cursor)) {
          throw new SourceFault('source_unavailable', 'the listing of Notion leads in a circle');
        }
        if (cursor !== null) seen.add(cursor);
      }
    },
    read: (entries, signal) =>
      readEach(entries, async ({ key, version }) => {
        const page = found.get(key);
        if (page === undefined) throw new SourceFault('source_missing', 'the page is gone');
        const { markdown } = await api.get(`/v1/pages/${encodeURIComponent(key)}/markdown`, Markdown, signal);
        return {
          key,
          version,
          fileName: `${fileNameOf(page.title).slice(0, 240) || key}.md`,
          contentType: 'text/markdown; charset=utf-8',
          content: markdown.trim() === '' ? null : { bytes: Buffer.from(`# ${page.title}\n\n${markdown}`) },
          sourcePath: page.url,
          metadata: { source_kind: 'notion', source_url: page.url },
          eventTimeMs: page.timeMs,
        };
      }),
    close: () => api.close(),
  };
}

/** Return the title of a page: its only property of type `title`, whatever its name. */
function titleOf(properties: Readonly<Record<string, unknown>>): string {
  for (const property of Object.values(properties)) {
    const parsed = Title.safeParse(property);
    if (parsed.success) return parsed.data.title.map((part) => part.plain_text).join('');
  }
  return '';
}
