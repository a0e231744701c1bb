import { z } from 'zod';
import { readDocumentLink } from '../../src/documents/document-link.ts';
import { readChunkWindow } from '../../src/ingest/document-text.ts';
import type { ReadingContext } from '../../src/ingest/each-chunk.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import type { KeyRing } from '../../src/platform/secret-key.ts';
import { textInteger } from '../../src/platform/zod-integers.ts';
import { renderDocumentPage, renderRefusal } from '../document-page.ts';
import { reportQueries, sharedQueries } from '../limited-queries.ts';
import { PAGE_HEADERS, PAGE_MEDIA_TYPE, PAGE_TYPE } from '../page.ts';
import { defineRoute, type Route } from '../route.ts';

/** Chunks on a page: the cited one, some before it, and more after it. */
const CHUNKS = 40;
const CHUNKS_BEFORE = 10;

const query = z.object({
  link: z.string().default('').describe('signature from a search; valid for one hour'),
  chunk: textInteger(z.int().min(0).max(10_000_000).default(0)).catch(0).describe('chunk to show'),
});

/** Create the route of the page that shows a document. Every search result has its address. */
export function documentPageRoutes(
  context: ReadingContext,
  { keyRing, queryShares }: { readonly keyRing: Pick<KeyRing, 'linkSigning'>; readonly queryShares: FairGate },
): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/documents/:document',
      operationId: 'showDocument',
      summary: 'Show the text of a document around a chunk, with the signed link of a search result',
      access: 'public',
      headers: PAGE_HEADERS,
      params: z.object({ document: z.string().min(1) }),
      query,
      responses: {
        200: { description: 'The page', mediaType: PAGE_MEDIA_TYPE },
        403: { description: 'The link is not valid', mediaType: PAGE_MEDIA_TYPE },
        404: { description: 'The document is gone', mediaType: PAGE_MEDIA_TYPE },
        409: { description: 'The document is not ready', mediaType: PAGE_MEDIA_TYPE },
        410: { description: 'The link has expired', mediaType: PAGE_MEDIA_TYPE },
      },
      async handle({ params, query, signal }) {
        try {
          const queries = reportQueries(context.sql, signal);
          const caller = await readDocumentLink({ sql: queries, keyRing }, params.document, query.link);
          const first = Math.max(query.chunk - CHUNKS_BEFORE, 0);
          const shared = { ...context, sql: sharedQueries(context.sql, queryShares, caller.orgId, signal) };
          const window = await readChunkWindow(shared, caller, params.document, { first, count: CHUNKS }, signal);
          const html = renderDocumentPage(window, { token: query.link, chunk: query.chunk, pageChunks: CHUNKS });
          return { body: Buffer.from(html), type: PAGE_TYPE };
        } catch (error) {
          if (!(error instanceof AppError) || error.status >= 500) throw error;
          return { status: error.status, body: Buffer.from(renderRefusal(error.message)), type: PAGE_TYPE };
        }
      },
    }),
  ];
}
