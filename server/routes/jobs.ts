import { z } from 'zod';
import { jobInBucket } from '../../src/documents/job-store.ts';
import { jobVisibleTo } from '../../src/documents/store.ts';
import { JobView, ListJobsQuery } from '../../src/jobs/schema.ts';
import { getJob, listJobs } from '../../src/jobs/store.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { defineRoute, type Route } from '../route.ts';

const JobParams = z.object({ job: z.string().min(1).max(128) });

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
      async handle({ caller, query }) {
        const inBucket = query.bucket_id === undefined ? sql`true` : jobInBucket(sql, caller.orgId, query.bucket_id);
        const condition = sql`${jobVisibleTo(sql, caller)} AND ${inBucket}`;
        return { body: await listJobs(sql, caller.orgId, query, condition) };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/jobs/:job',
      operationId: 'getJob',
      summary: 'One job',
      access: 'caller',
      errors: 'detail',
      reads: 'none',
      params: JobParams,
      responses: { 200: { description: 'The job', schema: JobView } },
      handle: async ({ caller, params }) => ({
        body: await getJob(sql, caller.orgId, params.job, jobVisibleTo(sql, caller)),
      }),
    }),
  ];
}
