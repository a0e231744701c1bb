import { z } from 'zod';
import { BatchRequest, BatchView, ListBatchesQuery } from '../../src/batches/batch-schema.ts';
import { cancelBatch, createBatch, getBatch, listBatches } from '../../src/batches/batches.ts';
import type { BatchContext } from '../../src/batches/context.ts';
import { listPage } from '../../src/files/list-page.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route } from '../route.ts';

const BatchParams = z.object({ batch_id: z.string().min(1).max(128) });

/** Create the routes of batches, in the shape of OpenAI's API. */
export function batchRoutes(context: BatchContext): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/batches',
      operationId: 'createBatch',
      summary: 'Embed the requests of a file in the background',
      access: 'embed',
      errors: 'embedding',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      axis: () => 'embed_batch',
      body: BatchRequest,
      responses: { 200: { description: 'The batch, whose input is checked later', schema: BatchView } },
      refusals: [403, 404, 409],
      handle: async ({ body, caller }) => ({ body: await createBatch(context, caller, body) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/batches',
      operationId: 'listBatches',
      summary: 'Batches of the organization, newest first',
      access: 'embed',
      errors: 'embedding',
      query: ListBatchesQuery,
      responses: { 200: { description: 'A page of batches', schema: listPage(BatchView) } },
      handle: async ({ caller, query }) => ({ body: await listBatches(sql, caller, query) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/batches/:batch_id',
      operationId: 'getBatch',
      summary: 'State and progress of a batch',
      access: 'embed',
      errors: 'embedding',
      params: BatchParams,
      responses: { 200: { description: 'The batch', schema: BatchView } },
      handle: async ({ caller, params }) => ({ body: await getBatch(sql, caller, params.batch_id) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/batches/:batch_id/cancel',
      operationId: 'cancelBatch',
      summary: 'Cancel a batch; finished answers are kept',
      access: 'embed',
      errors: 'embedding',
      params: BatchParams,
      responses: { 200: { description: 'The batch, which ends soon', schema: BatchView } },
      refusals: [409],
      handle: async ({ caller, params }) => ({ body: await cancelBatch(context, caller, params.batch_id) }),
    }),
  ];
}
