import { z } from 'zod';
import { jobVisibleTo } from '../../src/documents/store.ts';
import { JobView, ListJobsQuery } from '../../src/jobs/schema.ts';
import { getJob, listJobs } from '../../src/jobs/store.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { defineRoute, type Route } from '../route.ts';

export function jobRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/jobs',
      operationId: 'listJobs',
      summary: 'Jobs of the organization, newest first',
      access: 'caller',
      errors: 'detail',
      reads: 'none',
      query: ListJobsQuery,
      responses: { 200: { description: 'Jobs', schema: z.array(JobView) } },
      handle: async ({ caller, query }) => ({
        body: await listJobs(sql, caller.orgId, query, jobVisibleTo(sql, caller)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/jobs/:job',
      operationId: 'getJob',
      summary: 'One job',
      access: 'caller',
      errors: 'detail',
      reads: 'none',
      params: z.object({ job: z.string().min(1).max(128) }),
      responses: { 200: { description: 'The job', schema: JobView } },
      handle: async ({ caller, params }) => ({
        body: await getJob(sql, caller.orgId, params.job, jobVisibleTo(sql, caller)),
      }),
    }),
  ];
}
