import { z } from 'zod';
import { type ImportContext, importVectors } from '../../src/ingest/vectors/import-vectors.ts';
import { ImportReply, ImportRequest } from '../../src/ingest/vectors/schema.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import { sharedQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

/**
 * Maximum values in one request: 160 vectors of 1,536 numbers, which take some 50 ms to parse and validate. In base64,
 * a vector is one value.
 */
const VALUES_MAX = 260_000;

export function vectorImportRoutes(context: ImportContext, { queryShares }: { queryShares: FairGate }): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/buckets/:bucket/vectors',
      operationId: 'importVectors',
      summary: 'Import vectors of a model, with or without their texts: each row becomes a document, all rows or none',
      access: 'documents:write',
      refusesUnknownFields: true,
      idempotent: true,
      axis: () => 'upload',
      capacity: 'none',
      bodyValuesMax: VALUES_MAX,
      tooManyValues: {
        param: 'rows',
        message: 'rows: have too many numbers; send fewer rows, or the vectors in base64',
      },
      params: z.object({ bucket: z.string().min(1).describe('id or name') }),
      body: ImportRequest,
      responses: {
        202: { description: 'Stored; a job of each document will make it searchable', schema: ImportReply },
      },
      refusals: [402, 403, 409],
      async handle({ caller, params, body }) {
        const shared = { ...context, sql: sharedQueries(context.sql, queryShares, caller.orgId) };
        return { status: 202, body: await importVectors(shared, caller, params.bucket, body) };
      },
    }),
  ];
}
