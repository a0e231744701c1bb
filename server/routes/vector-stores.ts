import { z } from 'zod';
import { listPage } from '../../src/files/list-page.ts';
import type { VectorStoreContext } from '../../src/vector-stores/context.ts';
import {
  CreateVectorStore,
  DeletedVectorStore,
  EditVectorStore,
  PageQuery,
  VectorStoreView,
} from '../../src/vector-stores/schema.ts';
import {
  createVectorStore,
  deleteVectorStore,
  editVectorStore,
  getVectorStore,
  listVectorStores,
} from '../../src/vector-stores/vector-stores.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const StoreParams = z.object({ bucket: z.string().min(1).describe('id of the vector store, or name of the bucket') });

/**
 * Create the routes of vector stores, in the shape of OpenAI's API.
 * @param purge starts to remove marked data and continues after the reply
 */
export function vectorStoreRoutes(context: VectorStoreContext, purge: () => void): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/vector_stores',
      operationId: 'createVectorStore',
      summary: 'Create a bucket as a vector store',
      access: 'buckets:manage',
      errors: 'both',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: CreateVectorStore,
      responses: { 200: { description: 'The vector store', schema: VectorStoreView } },
      refusals: [402, 403, 404, 409],
      handle: async ({ caller, body }) => ({
        body: await createVectorStore({ ...context, sql: editQueries(sql) }, caller, body),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/vector_stores',
      operationId: 'listVectorStores',
      summary: 'Buckets of the organization as vector stores',
      access: 'caller',
      errors: 'both',
      query: PageQuery,
      responses: { 200: { description: 'A page, by creation', schema: listPage(VectorStoreView) } },
      handle: async ({ caller, query, signal }) => ({
        body: await listVectorStores(reportQueries(sql, signal), caller, query),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/vector_stores/:bucket',
      operationId: 'getVectorStore',
      summary: 'One bucket as a vector store',
      access: 'caller',
      errors: 'both',
      params: StoreParams,
      responses: { 200: { description: 'The vector store', schema: VectorStoreView } },
      handle: async ({ caller, params, signal }) => ({
        body: await getVectorStore(reportQueries(sql, signal), caller, params.bucket),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/vector_stores/:bucket',
      operationId: 'editVectorStore',
      summary: 'Change the name, metadata or expiry of a vector store',
      access: 'buckets:manage',
      errors: 'both',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: StoreParams,
      body: EditVectorStore,
      responses: { 200: { description: 'The vector store after the change', schema: VectorStoreView } },
      handle: async ({ caller, params, body }) => ({
        body: await editVectorStore(editQueries(sql), caller, params.bucket, body),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/vector_stores/:bucket',
      operationId: 'deleteVectorStore',
      summary: 'Delete a vector store and its documents; the files of /v1/files stay',
      access: 'buckets:manage',
      errors: 'both',
      params: StoreParams,
      responses: { 200: { description: 'Deleted', schema: DeletedVectorStore } },
      async handle({ caller, params }) {
        const deleted = await deleteVectorStore(editQueries(sql), caller, params.bucket);
        purge();
        return { body: deleted };
      },
    }),
  ];
}
