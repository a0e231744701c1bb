import { z } from 'zod';
import {
  createBucket,
  createCollection,
  deleteBucket,
  findBucket,
  listCollections,
  requireEngine,
} from '../../src/documents/buckets.ts';
import { editBucket } from '../../src/documents/edit-bucket.ts';
import {
  BucketView,
  CollectionView,
  CreateBucket,
  CreateCollection,
  EditBucket,
  EditedBucket,
} from '../../src/documents/schema.ts';
import { MoveBody, type MoveJobs, MoveReply, queueMove } from '../../src/ingest/reindex/move-job.ts';
import { queueReembed, ReembedBody, type ReembedJobs, ReembedReply } from '../../src/ingest/reindex/reembed-job.ts';
import type { Config } from '../../src/platform/config.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { BucketDetails, getBucketDetails, ListedBucket, listBucketsWithModels } from '../../src/search/bucket-model.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { NamePageQuery, pageSchema, readPageByName } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const BucketParams = z.object({ bucket: z.string().min(1).describe('id or name') });

/**
 * Create the routes of buckets and their collections.
 * @param purge starts to remove marked data and continues after the reply
 */
export function bucketRoutes(
  sql: Sql,
  { config, reembed }: { readonly config: Pick<Config, 'index'>; readonly reembed: MoveJobs },
  purge: () => void,
): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/buckets',
      operationId: 'createBucket',
      summary: 'Create a bucket',
      access: 'buckets:manage',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: CreateBucket,
      responses: { 201: { description: 'The bucket', schema: BucketView } },
      async handle({ caller, body }) {
        requireEngine(body.engine, config);
        return { status: 201, body: await createBucket(editQueries(sql), caller, body) };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/buckets',
      operationId: 'listBuckets',
      summary: 'Buckets of the organization',
      access: 'caller',
      query: NamePageQuery,
      responses: { 200: { description: 'A page, by name', schema: pageSchema(ListedBucket) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPageByName(query, (page) => listBucketsWithModels(reportQueries(sql, signal), caller, page)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket',
      operationId: 'getBucket',
      summary: 'One bucket',
      access: 'caller',
      params: BucketParams,
      responses: { 200: { description: 'The bucket', schema: BucketDetails } },
      handle: async ({ caller, params, signal }) => ({
        body: await getBucketDetails(reportQueries(sql, signal), caller, params.bucket),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/v1/buckets/:bucket',
      operationId: 'editBucket',
      summary: 'Change the name or the policy of a bucket; no document becomes more visible',
      access: 'buckets:manage',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: BucketParams,
      body: EditBucket,
      responses: { 200: { description: 'The bucket after the edit', schema: EditedBucket } },
      refusals: [409],
      handle: async ({ caller, params, body }) => ({
        body: await editBucket(editQueries(sql), caller, params.bucket, body),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/buckets/:bucket',
      operationId: 'deleteBucket',
      summary: 'Delete a bucket with everything in it',
      access: 'buckets:manage',
      params: BucketParams,
      query: z.object({ confirm: z.string().default('').describe("must be the bucket's name") }),
      responses: { 200: { description: 'Deleted', schema: z.object({ id: z.string(), deleted: z.literal(true) }) } },
      async handle({ caller, params, query }) {
        const id = await deleteBucket(editQueries(sql), caller, params.bucket, query.confirm);
        purge();
        return { body: { id, deleted: true } };
      },
    }),
    reembedRoute(reembed),
    moveRoute(reembed),
    ...collectionRoutes(sql),
  ];
}

function moveRoute(context: MoveJobs): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/buckets/:bucket/move',
    operationId: 'moveBucketIndex',
    summary: 'Move the search index of a bucket to another engine, while searches keep working',
    access: 'buckets:manage',
    bodyLimitBytes: SMALL_BODY_BYTES_MAX,
    idempotent: true,
    params: BucketParams,
    body: MoveBody,
    responses: {
      202: { description: 'The job that does it', schema: MoveReply },
      200: { description: 'A dry run, or nothing was left to do', schema: MoveReply },
    },
    async handle({ caller, params, body }) {
      const request = { bucket: params.bucket, engine: body.engine };
      const reply = await queueMove(context, caller, request, { dryRun: body.dry_run });
      return { status: reply.job_id === null ? 200 : 202, body: reply };
    },
  });
}

function reembedRoute(context: ReembedJobs): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/buckets/:bucket/reembed',
    operationId: 'reembedBucket',
    summary: 'Embed all chunks of a bucket with another model, while searches keep working',
    access: 'buckets:manage',
    bodyLimitBytes: SMALL_BODY_BYTES_MAX,
    idempotent: true,
    params: BucketParams,
    body: ReembedBody,
    responses: {
      202: { description: 'The job that does it', schema: ReembedReply },
      200: { description: 'A dry run, or nothing was left to do', schema: ReembedReply },
    },
    async handle({ caller, params, body }) {
      const request = { bucket: params.bucket, model: body.model };
      const reply = await queueReembed(context, caller, request, { dryRun: body.dry_run });
      return { status: reply.job_id === null ? 200 : 202, body: reply };
    },
  });
}

function collectionRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/collections',
      operationId: 'listCollections',
      summary: 'Collections of a bucket',
      access: 'caller',
      params: BucketParams,
      query: NamePageQuery,
      responses: { 200: { description: 'A page, by name', schema: pageSchema(CollectionView) } },
      async handle({ caller, params, query, signal }) {
        const queries = reportQueries(sql, signal);
        const { id } = await findBucket(queries, caller, params.bucket);
        return { body: await readPageByName(query, (page) => listCollections(queries, caller.orgId, id, page)) };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/buckets/:bucket/collections',
      operationId: 'createCollection',
      summary: 'Create a collection',
      access: 'documents:write',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      params: BucketParams,
      body: CreateCollection,
      responses: { 201: { description: 'The collection', schema: CollectionView } },
      handle: async ({ caller, params, body }) => ({
        status: 201,
        body: await createCollection(editQueries(sql), caller, params.bucket, body.name),
      }),
    }),
  ];
}
