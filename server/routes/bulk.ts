import { z } from 'zod';
import type { BulkContext } from '../../src/bulk/bulk.ts';
import { cancelBulkJob, getBulkJob } from '../../src/bulk/bulk-jobs.ts';
import { renderResultPage } from '../../src/bulk/result-page.ts';
import {
  BulkJobView,
  BulkReply,
  BulkRequest,
  BulkResultPage,
  CancelledReply,
  ResultQuery,
} from '../../src/bulk/schema.ts';
import { submitBulkJob } from '../../src/bulk/submit-bulk.ts';
import { printedReply } from '../printed-reply.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS } from './embeddings.ts';
import { BULK_VALUES_MAX, parseBulkBody } from './parse-bulk-body.ts';

const JobParams = z.object({ job: z.string().min(1) });

export function bulkRoutes(context: BulkContext, settings: { bodyBytes: number }): Route[] {
  const { sql, threads } = context;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/embed/jobs',
      operationId: 'submitBulkJob',
      summary: 'Embed up to 10,000 texts in the background',
      access: 'embed',
      errors: 'embedding',
      bodyLimitBytes: settings.bodyBytes,
      capacity: 'none',
      idempotent: true,
      body: BulkRequest,
      bodyValuesMax: BULK_VALUES_MAX,
      tooManyValues: { param: 'texts', message: 'takes up to 10,000 texts, which must be strings' },
      parse: (bytes, signal) => parseBulkBody(threads, bytes, signal),
      axis: () => 'embed_batch',
      responses: { 200: { description: 'Queued', schema: BulkReply, headers: ['X-Service-Warning'] } },
      refusals: EMBEDDING_REFUSALS,
      async handle({ body, caller, signal }) {
        const { reply, warnings } = await submitBulkJob(context, caller, body, signal);
        return {
          body: reply,
          ...(warnings.length > 0 ? { headers: { 'X-Service-Warning': warnings.join(', ') } } : {}),
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/embed/jobs/:job',
      operationId: 'getBulkJob',
      summary: 'State and progress of a bulk job',
      access: 'caller',
      errors: 'embedding',
      params: JobParams,
      responses: { 200: { description: 'The job', schema: BulkJobView } },
      handle: async ({ caller, params }) => ({ body: await getBulkJob(sql, caller, params.job) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/embed/jobs/:job/cancel',
      operationId: 'cancelBulkJob',
      summary: 'Cancel a bulk job that is still queued',
      access: 'embed',
      errors: 'embedding',
      params: JobParams,
      responses: { 200: { description: 'Cancelled; the job will not run', schema: CancelledReply } },
      refusals: [409],
      handle: async ({ caller, params }) => ({ body: await cancelBulkJob(sql, caller, params.job) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/embed/jobs/:job/result',
      operationId: 'getBulkResult',
      summary: 'Vectors of a bulk job that is ready, page by page',
      access: 'caller',
      errors: 'embedding',
      params: JobParams,
      query: ResultQuery,
      responses: { 200: { description: 'Vectors in the order of the texts', schema: BulkResultPage } },
      refusals: [409],
      handle: async ({ caller, params, query }) =>
        printedReply(await renderResultPage(context, caller, params.job, query)),
    }),
  ];
}
