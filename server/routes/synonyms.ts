import { z } from 'zod';
import type { Sql } from '../../src/platform/postgres.ts';
import { getSynonyms, setSynonyms } from '../../src/search/synonyms/edit-synonyms.ts';
import { SynonymsEdit, SynonymsView } from '../../src/search/synonyms/schema.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ bucket: z.string().min(1).describe('id or name') });

export function synonymRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/synonyms',
      operationId: 'getBucketSynonyms',
      summary: 'Synonyms of a bucket',
      access: 'caller',
      params,
      responses: { 200: { description: 'The synonyms', schema: SynonymsView } },
      handle: async ({ caller, params, signal }) => ({
        body: await getSynonyms(reportQueries(sql, signal), caller, params.bucket),
      }),
    }),
    defineRoute({
      method: 'PUT',
      path: '/v1/buckets/:bucket/synonyms',
      operationId: 'setBucketSynonyms',
      summary: 'Replace the synonyms of a bucket; the next search uses them',
      access: 'buckets:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: SynonymsEdit,
      responses: { 200: { description: 'The synonyms', schema: SynonymsView } },
      handle: async ({ caller, params, body }) => ({
        body: await setSynonyms(editQueries(sql), caller, params.bucket, body),
      }),
    }),
  ];
}
