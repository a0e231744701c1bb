import type { JobView } from '../../src/jobs/schema.ts';
import { findJob } from '../../src/jobs/store.ts';
import type { Sql } from '../../src/platform/postgres.ts';

/** Read a job in the form of the API, without a check of access to its document. */
export async function readJob(sql: Sql, orgId: string, jobId: string): Promise<JobView> {
  return (await findJob(sql, orgId, sql`true`, jobId)).view;
}
