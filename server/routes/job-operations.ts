import { z } from 'zod';
import { cancelJob, deleteJob, type JobOperations, reprocessJob } from '../../src/jobs/operations.ts';
import { reapStaleJobs } from '../../src/jobs/reap.ts';
import { CancelReply, JobView, ReapQuery, ReapReply } from '../../src/jobs/schema.ts';
import { defineRoute, type Route } from '../route.ts';

const JobParams = z.object({ job: z.string().min(1) });

/** Flag in the query: `true`, `1`, `yes`, `on` and their opposites. */
const Force = z.stringbool('must be true or false').meta({ type: 'boolean' }).default(false);

/** Name in the audit log of a caller with the cron secret. */
const CRON_ACTOR = 'cron';

/** Create the routes that change jobs of any kind. */
export function jobOperationRoutes(operations: JobOperations): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/jobs/:job/cancel',
      operationId: 'cancelJob',
      summary: 'Cancel a queued job, or with force also one in progress',
      access: 'jobs:write',
      params: JobParams,
      query: z.object({ force: Force }),
      responses: {
        200: { description: 'Cancelled, or already finished, with a detail that says so', schema: CancelReply },
      },
      refusals: [409],
      handle: async ({ caller, params, query }) => ({ body: await cancelJob(operations, caller, params.job, query) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/jobs/:job/reprocess',
      operationId: 'reprocessJob',
      summary: 'Repeat the work of a finished job as a new job',
      access: 'jobs:write',
      idempotent: true,
      params: JobParams,
      responses: { 200: { description: 'The new job', schema: JobView } },
      refusals: [402],
      handle: async ({ caller, params }) => ({ body: await reprocessJob(operations, caller, params.job) }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/jobs/:job',
      operationId: 'deleteJob',
      refusals: [409],
      summary: 'Remove a job that is not in progress; its document stays',
      access: 'jobs:write',
      params: JobParams,
      responses: { 204: { description: 'Deleted' } },
      async handle({ caller, params }) {
        await deleteJob(operations, caller, params.job);
        return {};
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/admin/reap-stale-jobs',
      operationId: 'reapStaleJobs',
      summary: 'Mark stuck jobs of every organization as failed',
      access: 'cron_or_platform_admin',
      query: ReapQuery,
      responses: { 200: { description: 'The jobs that were marked as failed', schema: ReapReply } },
      async handle({ caller, query }) {
        const actor = caller?.actor ?? CRON_ACTOR;
        return { body: await reapStaleJobs(operations, actor, { timeoutMinutes: query.timeout_minutes }) };
      },
    }),
  ];
}
