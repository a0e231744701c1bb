import { z } from 'zod';
import { getVisibleJob, listVisibleJobs } from '../../src/documents/job-documents.ts';
import { JobView, ListJobsQuery } from '../../src/jobs/schema.ts';
import type { Reads } from '../../src/platform/postgres.ts';
import { reportLimit } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const JobParams = z.object({ job: z.string().min(1) });

export function jobRoutes(reads: Reads): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/jobs',
      operationId: 'listJobs',
      summary: 'Jobs of the organization, newest first',
      access: 'caller',
      query: ListJobsQuery,
      responses: { 200: { description: 'Jobs', schema: z.array(JobView) } },
      handle: async ({ caller, query, signal }) => ({
        body: await reads.current(reportLimit(signal), (sql) => listVisibleJobs(sql, caller, query)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/jobs/:job',
      operationId: 'getJob',
      summary: 'One job',
      access: 'caller',
      params: JobParams,
      responses: { 200: { description: 'The job', schema: JobView } },
      handle: async ({ caller, params, signal }) => ({
        body: await reads.current(reportLimit(signal), (sql) => getVisibleJob(sql, caller, params.job)),
      }),
    }),
  ];
}
