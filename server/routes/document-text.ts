import { z } from 'zod';
import { DocumentText, DocumentTextQuery, readDocumentText } from '../../src/ingest/document-text.ts';
import type { ReadingContext } from '../../src/ingest/each-chunk.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import { sharedQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({
  bucket: z.string().min(1).describe('id or name'),
  document: z.string().min(1),
});

export function documentTextRoutes(context: ReadingContext, queryShares: FairGate): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/documents/:document/text',
      operationId: 'getDocumentText',
      summary: 'Extracted text of a document: one range',
      access: 'caller',
      capacity: 'none',
      params,
      query: DocumentTextQuery,
      responses: { 200: { description: 'The range', schema: DocumentText } },
      refusals: [409],
      async handle({ caller, params, query, signal }) {
        const shared = { ...context, sql: sharedQueries(context.sql, queryShares, caller.orgId, signal) };
        return { body: await readDocumentText(shared, caller, params, query, signal) };
      },
    }),
  ];
}
