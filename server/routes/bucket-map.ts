import { z } from 'zod';
import { BucketMap, BucketMapQuery, type MapContext, mapBucket } from '../../src/insight/map/bucket-map.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

export function bucketMapRoutes(context: MapContext): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/map',
      operationId: 'getBucketMap',
      summary: 'A sample of the chunks of a bucket in two dimensions: the first principal components of their vectors',
      access: 'search',
      capacity: 'maps',
      params: z.object({ bucket: z.string().min(1).describe('id or name') }),
      query: BucketMapQuery,
      responses: { 200: { description: 'The map', schema: BucketMap } },
      handle: async ({ caller, params, query, signal }) => ({
        body: await mapBucket(
          { ...context, sql: reportQueries(context.sql, signal) },
          caller,
          params.bucket,
          query.sample,
          signal,
        ),
      }),
    }),
  ];
}
