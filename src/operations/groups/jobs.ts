import { z } from 'zod';
import { findBucket } from '../../documents/buckets.ts';
import { getVisibleJob, listVisibleJobs } from '../../documents/job-documents.ts';
import { cancelJob, deleteJob, reprocessJob } from '../../jobs/operations.ts';
import { reapStaleJobs } from '../../jobs/reap.ts';
import { ListJobsQuery, ReapQuery } from '../../jobs/schema.ts';
import { conflict } from '../../platform/errors.ts';
import { forInstallation, forOrganization } from '../operation.ts';

const Id = z.object({ id: z.string() });

export const list = forOrganization(
  z.object({
    status: ListJobsQuery.shape.status,
    limit: ListJobsQuery.shape.limit,
    bucket: z.string().optional(),
  }),
  async ({ bucket, ...query }, { appliance: { sql }, operator }) => {
    const found = bucket === undefined ? undefined : await findBucket(sql, operator.orgId, bucket);
    return listVisibleJobs(sql, operator, { ...query, bucket_id: found?.id });
  },
);

export const show = forOrganization(Id, ({ id }, { appliance, operator }) =>
  getVisibleJob(appliance.sql, operator, id),
);

/** Cancel a job. @throws AppError `job_already_finished` (409) */
export const cancel = forOrganization(
  Id.extend({ force: z.boolean().optional() }),
  async ({ id, force }, { appliance, operator }) => {
    const reply = await cancelJob(appliance.jobs.operations, operator, id, { force: force ?? false });
    if (reply.detail !== undefined) throw conflict(reply.detail, 'job_already_finished');
    return reply;
  },
);

export const remove = forOrganization(Id, async ({ id }, { appliance, operator }) => {
  await deleteJob(appliance.jobs.operations, operator, id);
  return { id, deleted: true };
});

export const reprocess = forOrganization(Id, ({ id }, { appliance, operator }) =>
  reprocessJob(appliance.jobs.operations, operator, id),
);

export const reap = forInstallation(
  ReapQuery.pick({ timeout_minutes: true }).extend({ dry_run: z.boolean().optional() }),
  ({ timeout_minutes: timeoutMinutes, dry_run: dryRun }, { appliance, actor }) =>
    reapStaleJobs(appliance.jobs.operations, actor, { timeoutMinutes, dryRun: dryRun ?? false }),
);
