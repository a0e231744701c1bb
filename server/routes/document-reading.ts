import { z } from 'zod';
import { findDocumentOfAnyBucket } from '../../src/documents/documents.ts';
import { findDocumentRows } from '../../src/documents/list-store.ts';
import { DocumentView, FindDocumentsQuery } from '../../src/documents/schema.ts';
import { DocumentChunks, DocumentChunksQuery, readDocumentChunks } from '../../src/ingest/document-chunks.ts';
import type { ReadingContext } from '../../src/ingest/each-chunk.ts';
import type { SearchLog } from '../../src/insight/log/search-log.ts';
import { HistoryEntry, readHistory } from '../../src/metadata/read-history.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import type { Reads } from '../../src/platform/postgres.ts';
import { textInteger } from '../../src/platform/zod-integers.ts';
import { linkToPlace, type ResultLinks } from '../../src/search/results/link-results.ts';
import { reportLimit, reportQueries, sharedQueries } from '../limited-queries.ts';
import { pageSchema } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ document: z.string().min(1) });

const HISTORY_ENTRIES_MAX = 1000;
const HistoryQuery = z.object({ limit: textInteger(z.int().min(1).max(HISTORY_ENTRIES_MAX).default(50)) });

const OpenedQuery = z.object({
  search: z.string().min(1).max(100).optional().describe('search_id of the search whose results led to the document'),
});

/** Create the routes that read a document by id alone, as the console's pages do. */
export function documentReadingRoutes(
  context: ReadingContext,
  {
    reads,
    links,
    queryShares,
    log,
  }: {
    readonly reads: Reads;
    readonly links: ResultLinks;
    readonly queryShares: FairGate;
    readonly log: Pick<SearchLog, 'opened'>;
  },
): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/documents',
      operationId: 'findDocuments',
      summary: 'Find documents of any bucket by part of the name or by id, newest first',
      access: 'caller',
      query: FindDocumentsQuery,
      responses: { 200: { description: 'The documents', schema: pageSchema(DocumentView) } },
      handle: async ({ caller, query, signal }) => ({
        body: {
          object: 'list',
          data: await reads.current(reportLimit(signal), (sql) => findDocumentRows(sql, caller, query)),
          has_more: false,
          next_cursor: null,
        },
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/documents/:document',
      operationId: 'findDocument',
      summary: 'One document of any bucket',
      access: 'caller',
      params,
      query: OpenedQuery,
      responses: { 200: { description: 'The document', schema: DocumentView } },
      async handle({ caller, params, query, signal }) {
        const document = await reads.current(reportLimit(signal), (of) =>
          findDocumentOfAnyBucket(of, caller, params.document),
        );
        if (query.search !== undefined) log.opened(caller.orgId, query.search, document.id);
        return { body: document };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/documents/:document/chunks',
      operationId: 'getDocumentChunks',
      summary: 'Chunks of a document with their pages and headings: a range, or those with given words',
      access: 'caller',
      capacity: 'none',
      params,
      query: DocumentChunksQuery,
      responses: { 200: { description: 'The range', schema: DocumentChunks } },
      refusals: [409],
      async handle({ caller, params, query, origin, signal }) {
        const shared = { ...context, sql: sharedQueries(sql, queryShares, caller.orgId, signal) };
        const read = await readDocumentChunks(shared, caller, params.document, query, signal);
        const [chunk] = read.chunks;
        const place = { documentId: read.id, chunkIndex: chunk?.chunk_index ?? 0 };
        return { body: { ...read, url: linkToPlace(links, { caller, origin }, place) } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/documents/:document/history',
      operationId: 'getDocumentHistory',
      summary: 'Changes of a document, newest first; for administrators of the organization',
      access: 'caller',
      params,
      query: HistoryQuery,
      responses: {
        200: {
          description: 'The changes',
          schema: z.object({ object: z.literal('list'), data: z.array(HistoryEntry) }),
        },
      },
      refusals: [403],
      handle: async ({ caller, params, query, signal }) => ({
        body: {
          object: 'list',
          data: await readHistory(reportQueries(sql, signal), caller, params.document, query.limit),
        },
      }),
    }),
  ];
}
