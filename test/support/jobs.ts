import type { JobView } from '../../src/jobs/schema.ts';
import { findJob } from '../../src/jobs/store.ts';
import type { Sql } from '../../src/platform/postgres.ts';

/** A job as the API shows it, to whoever may see it. */
export async function readJob(sql: Sql, orgId: string, jobId: string): Promise<JobView> {
  return (await findJob(sql, orgId, sql`true`, jobId)).view;
}
