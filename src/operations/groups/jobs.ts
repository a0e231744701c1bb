import { z } from 'zod';
import type { ApplianceBase } from '../../appliance/appliance.ts';
import { hasLiveWorker } from '../../appliance/live-workers.ts';
import { countTexts } from '../../bulk/store.ts';
import { findBucket } from '../../documents/buckets.ts';
import { findJobFile, getVisibleJob, listVisibleFinishedJobs, listVisibleJobs } from '../../documents/job-documents.ts';
import { jobVisibleTo } from '../../documents/visibility.ts';
import { cancelJob, deleteJob, reprocessJob } from '../../jobs/operations.ts';
import { openQueueGauge } from '../../jobs/queues.ts';
import { reapStaleJobs } from '../../jobs/reap.ts';
import { JobKind, JobStatus, ListJobsQuery, ReapQuery } from '../../jobs/schema.ts';
import { JobsSelector, watchJobs } from '../../jobs/watch.ts';
import { conflict } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import { selectCalibrationStates } from '../../projection/auto/state-store.ts';
import { describeFile } from '../describe-file.ts';
import { jsonLines } from '../json-lines.ts';
import { forInstallation, forOrganization, WithBody } from '../operation.ts';
import { findSelector, registerWatch } from '../running-watches.ts';

const Id = z.object({ id: z.string() });
/** Maximum number of jobs in one request. */
const IDS_MAX = 100_000;
/** Gauge of the queues of each installation. It keeps its last reading to compare with the next one. */
const gauges = new WeakMap<ApplianceBase, ReturnType<typeof openQueueGauge>>();

export const list = forOrganization(
  z.object({
    status: ListJobsQuery.shape.status,
    limit: ListJobsQuery.shape.limit,
    bucket: z.string().optional(),
  }),
  async ({ bucket, ...query }, { appliance: { sql }, operator }) => {
    const found = bucket === undefined ? undefined : await findBucket(sql, operator, bucket);
    return listVisibleJobs(sql, operator, { ...query, bucket_id: found?.id });
  },
);

export const show = forOrganization(Id, ({ id }, { appliance, operator }) =>
  getVisibleJob(appliance.sql, operator, id),
);

/** Find the original file of the document that a job worked on, with its bytes. */
export const file = forOrganization(Id, async ({ id }, { appliance, operator }) => {
  const found = await findJobFile(appliance.sql, appliance.objects, operator, id);
  return new WithBody(describeFile(found), found.open());
});

/** Select the jobs that have ended. */
export const finished = forOrganization(
  z.object({ ids: z.array(z.string()).max(IDS_MAX) }),
  ({ ids }, { appliance, operator }) => listVisibleFinishedJobs(appliance.sql, operator, ids),
);

/** Return true if a worker for jobs of a kind is alive. */
export const hasWorker = forInstallation(z.object({ kind: JobKind }), ({ kind }, { appliance }) =>
  hasLiveWorker(appliance, kind),
);

/**
 * Watch jobs. The body is snapshots (`JobsSnapshot`), each a line of JSON. `watch` identifies the watch for `select`.
 */
export const watch = forOrganization(
  z.object({
    bucket: z.string().optional(),
    kind: JobKind.optional(),
    status: JobStatus.optional(),
    interval: z.int().min(1),
  }),
  async ({ bucket, kind, status, interval }, { appliance, operator, signal, closing }) => {
    const { sql } = appliance;
    const found = bucket === undefined ? null : await findBucket(sql, operator, bucket);
    const selector = new JobsSelector({ status: status ?? null, openId: null });
    const { id, end } = registerWatch(appliance, selector);
    const scope = { bucketId: found?.id, kind, countTexts, visible: (tx: Sql) => jobVisibleTo(tx, operator) };
    const snapshots = (ended: AbortSignal) =>
      watchJobs(sql, operator.orgId, { ...scope, selector, intervalMs: interval * 1000, signal: ended });
    const body = jsonLines(snapshots, AbortSignal.any([signal, closing]));
    return new WithBody({ watch: id, bucket: found?.name ?? null }, body.once('close', end));
  },
);

/** Read queues, workers, throughput, and the running or postponed calibrations. */
export const load = forInstallation(z.object({}), async (_, { appliance }) => {
  const readQueues = gauges.get(appliance) ?? openQueueGauge();
  gauges.set(appliance, readQueues);
  const states = await selectCalibrationStates(appliance.sql);
  return {
    ...(await readQueues(appliance.sql)),
    calibrations: states.map(({ model, state, textsDone, textsTotal, score, reason }) => ({
      model,
      state,
      texts_done: textsDone,
      texts_total: textsTotal,
      score,
      reason,
    })),
  };
});

/** Change what a watch selects, which triggers its next snapshot. @throws AppError `watch_not_found` (404) */
export const select = forOrganization(
  z.object({ watch: z.string(), status: JobStatus.nullable(), open: z.string().nullable() }),
  async ({ watch: id, status, open }, { appliance }) => {
    findSelector(appliance, id).selection = { status, openId: open };
  },
);

/** Cancel a job. @throws AppError `job_already_finished` (409) */
export const cancel = forOrganization(
  Id.extend({ force: z.boolean().optional() }),
  async ({ id, force }, { appliance, operator }) => {
    const reply = await cancelJob(appliance.jobs.operations, operator, id, { force: force ?? false });
    if (reply.detail !== undefined) throw conflict(reply.detail, 'job_already_finished');
    return reply;
  },
  ['jobs'],
);

export const remove = forOrganization(
  Id,
  async ({ id }, { appliance, operator }) => {
    await deleteJob(appliance.jobs.operations, operator, id);
    return { id, deleted: true };
  },
  ['jobs'],
);

export const reprocess = forOrganization(
  Id,
  ({ id }, { appliance, operator }) => reprocessJob(appliance.jobs.operations, operator, id),
  ['jobs'],
);

export const reap = forInstallation(
  ReapQuery.pick({ timeout_minutes: true }).extend({ dry_run: z.boolean().optional() }),
  ({ timeout_minutes: timeoutMinutes, dry_run: dryRun }, { appliance, actor }) =>
    reapStaleJobs(appliance.jobs.operations, actor, { timeoutMinutes, dryRun: dryRun ?? false }),
  ['jobs'],
);
