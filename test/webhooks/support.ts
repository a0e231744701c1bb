import type { Sql } from '../../src/platform/postgres.ts';
import type { TestApi } from '../support/api.ts';

/** Send the events that are due, as a process does. */
export async function sendWebhooks({ appliance }: Pick<TestApi, 'appliance'>): Promise<void> {
  const chore = appliance.webhooks.chores(60_000).find(({ name }) => name === 'sending of webhooks');
  await chore?.run(new AbortController().signal);
}

/** Move the clock of all webhooks on, by making their times earlier. */
export async function passTime(sql: Sql, ms: number): Promise<void> {
  const time = sql`${ms}::float8 * interval '1 millisecond'`;
  await sql`
    UPDATE webhook_deliveries SET next_at = next_at - ${time}, queued_at = queued_at - ${time},
           occurred_at = occurred_at - ${time}, tried_at = tried_at - ${time}, finished_at = finished_at - ${time}`;
  await sql`
    UPDATE webhook_endpoints SET failing_since = failing_since - ${time}, paused_until = paused_until - ${time},
           previous_until = previous_until - ${time}`;
}

/** Make a job row of an organization by itself, for events without work. */
export async function insertJob(sql: Sql, orgId: string, id: string): Promise<void> {
  await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, fair_rank, status, s3_key, file_name, file_size)
    VALUES (${id}, 'bulk', ${orgId}, '', 0, 'queued', '', 'test', 0)`;
}

export async function setJobStatus(sql: Sql, orgId: string, id: string, status: string): Promise<void> {
  await sql`UPDATE jobs SET status = ${status} WHERE org_id = ${orgId} AND id = ${id}`;
}
