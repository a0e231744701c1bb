import { z } from 'zod';
import type { ConfluenceConnection } from '../../../platform/cloud-source-settings.ts';
import { fileNameOf } from '../../../platform/printable.ts';
import type { ConfigOf } from '../configs.ts';
import { type ListedEntry, SourceFault, type SourceReader } from '../source-reader.ts';
import { ApiClient } from './api-client.ts';
import { readEach } from './list-read.ts';

const PAGE_ROWS = 250;

const Links = z.object({ next: z.string().optional() }).optional();
const Spaces = z.object({ results: z.array(z.object({ id: z.string(), key: z.string() })), _links: Links });
const Pages = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      version: z.object({ number: z.int(), createdAt: z.iso.datetime({ offset: true }).optional() }),
      _links: z.object({ webui: z.string().optional() }).optional(),
    }),
  ),
  _links: Links,
});
const Page = z.object({ body: z.object({ export_view: z.object({ value: z.string() }).optional() }) });

/** Listed page, kept until its content is read. */
interface FoundPage {
  readonly id: string;
  readonly title: string;
  readonly address: string;
  readonly timeMs: number | null;
}

/**
 * Open the pages of Confluence Cloud spaces as a source, through REST API v2
 * (developer.atlassian.com/cloud/confluence/rest/v2, November 2026). The version number shows whether a page changed.
 */
export function openConfluenceReader(
  { url, email, token }: ConfluenceConnection,
  { spaces }: ConfigOf<'confluence'>,
): SourceReader {
  const basic = Buffer.from(`${email}:${token.reveal()}`).toString('base64');
  const authorize = async () => ({ authorization: `Basic ${basic}`, accept: 'application/json' });
  const api = new ApiClient({ origin: new URL(url).origin, name: 'Confluence', authorize });
  const found = new Map<string, FoundPage>();
  const entryOf = (page: z.output<typeof Pages>['results'][number], space: string): ListedEntry => {
    const { createdAt } = page.version;
    const timeMs = createdAt === undefined ? null : Date.parse(createdAt);
    const key = `${space}/${page.id}`;
    const address = `${url}/wiki${page._links?.webui ?? `/pages/${page.id}`}`;
    found.set(key, { id: page.id, title: page.title, address, timeMs });
    return { key, version: `${page.version.number}`, sizeBytes: 0, eventTimeMs: timeMs };
  };
  return {
    async *list(signal) {
      const wanted = spaces === undefined ? '' : `&keys=${spaces.map(encodeURIComponent).join(',')}`;
      const all: z.output<typeof Spaces>['results'] = [];
      for await (const { results } of pagesOf(api, `/wiki/api/v2/spaces?limit=${PAGE_ROWS}${wanted}`, Spaces, signal)) {
        all.push(...results);
      }
      const missing = spaces?.find((key) => !all.some((space) => space.key === key));
      if (missing !== undefined) {
        throw new SourceFault('source_missing', `Confluence shows no space ${missing}; check its key and the rights`);
      }
      for (const { id, key } of all) {
        const path = `/wiki/api/v2/spaces/${id}/pages?status=current&limit=${PAGE_ROWS}`;
        for await (const { results } of pagesOf(api, path, Pages, signal)) {
          yield { entries: results.map((page) => entryOf(page, key)), faults: [] };
        }
      }
    },
    read: (entries, signal) =>
      readEach(entries, async ({ key, version }) => {
        const page = found.get(key);
        if (page === undefined) throw new SourceFault('source_missing', 'the page is gone');
        const reply = await api.get(`/wiki/api/v2/pages/${page.id}?body-format=export_view`, Page, signal);
        const text = reply.body.export_view?.value ?? '';
        const html = `<!doctype html><title>${escapeHtml(page.title)}</title><h1>${escapeHtml(page.title)}</h1>${text}`;
        return {
          key,
          version,
          fileName: `${fileNameOf(page.title).slice(0, 240) || page.id}.html`,
          contentType: 'text/html; charset=utf-8',
          content: text.trim() === '' ? null : { bytes: Buffer.from(html) },
          sourcePath: page.address,
          metadata: { source_kind: 'confluence', source_url: page.address },
          eventTimeMs: page.timeMs,
        };
      }),
    close: () => api.close(),
  };
}

/** Follow the pagination links of a listing, which must stay on the same service. */
async function* pagesOf<T extends { readonly _links?: { readonly next?: string | undefined } | undefined }>(
  api: ApiClient,
  first: string,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const seen = new Set<string>();
  for (let path: string | undefined = first; path !== undefined; ) {
    if (seen.has(path)) throw new SourceFault('source_unavailable', 'the listing of Confluence leads in a circle');
    seen.add(path);
    const page: T = await api.get(path, schema, signal);
    yield page;
    const next: string | undefined = page._links?.next;
    path = next === undefined || next.startsWith('/') ? next : new URL(next).pathname + new URL(next).search;
  }
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
