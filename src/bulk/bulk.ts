import type { Embedder } from '../embedding/embedder.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import { notFound } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import type { PlanSettings } from '../usage/quotas.ts';
import { type BulkJob, selectBulkJob } from './store.ts';

/** Dependencies and settings for bulk embedding. */
export interface BulkContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly embedder: Embedder;
  readonly plans: PlanSettings;
  /** Maximum number of chunks of one job to embed concurrently. */
  readonly callsInFlight: number;
  /** Time to keep a job's input and results after its end. */
  readonly retentionMs: number;
}

/** Find a bulk job. @throws AppError `job_not_found` (404), also for a job of another organization or kind */
export async function findBulkJob(sql: Sql, orgId: string, jobId: string): Promise<BulkJob> {
  const job = await selectBulkJob(sql, orgId, jobId);
  if (job === null) throw notFound('job', jobId);
  return job;
}
