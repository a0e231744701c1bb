import type { Sql } from '../platform/postgres.ts';
import type { SendRequest } from './schema.ts';

/** Notification claimed by a process, with its request. */
export interface HeldNotification {
  readonly id: string;
  readonly orgId: string;
  readonly request: SendRequest;
  readonly requestedAt: Date;
  /** Number of the claim, which serves as a fencing token. */
  readonly tries: number;
}

/** Notification claimed by the outbox. */
export interface DueNotification extends HeldNotification {
  readonly status: 'sending' | 'accepted';
  readonly reason: string | null;
  /** True if the vendor may have accepted it in an earlier attempt. */
  readonly uncertain: boolean;
  readonly messageId: string | null;
  readonly acceptedAt: Date | null;
}

/** State of a notification after an attempt. `waitMs` is the time until the outbox acts again; null for never. */
export type Outcome =
  | { readonly status: 'accepted'; readonly messageId: string; readonly waitMs: number | null }
  | { readonly status: 'queued'; readonly reason: string; readonly uncertain: boolean; readonly waitMs: number }
  | { readonly status: 'failed'; readonly reason: string; readonly uncertain: boolean };

/**
 * Claim due notifications of all organizations for `leaseMs`: queued ones, accepted ones without a report, and those
 * whose process died while sending. Those of suspended organizations wait.
 */
export async function claimDue(sql: Sql, rowsMax: number, leaseMs: number): Promise<DueNotification[]> {
  const rows = await sql`
    UPDATE channel_notifications n
    SET status = CASE WHEN n.status = 'queued' THEN 'sending' ELSE n.status END, tries = n.tries + 1,
        uncertain = n.uncertain OR n.status = 'sending',
        reason = CASE WHEN n.status = 'sending' THEN 'interrupted' ELSE n.reason END,
        next_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    FROM (
      SELECT due.id FROM channel_notifications due JOIN organizations o ON o.id = due.org_id
      WHERE due.next_at <= clock_timestamp() AND due.status IN ('queued', 'sending', 'accepted')
        AND o.suspended_at IS NULL
      ORDER BY due.next_at LIMIT ${rowsMax} FOR UPDATE OF due SKIP LOCKED
    ) AS claimed
    WHERE n.id = claimed.id
    RETURNING n.*`;
  return rows.map(toDue);
}

/**
 * Record the state after an attempt, unless another process has claimed the notification since. Return the end time of
 * the attempt.
 */
export async function recordOutcome(sql: Sql, held: HeldNotification, outcome: Outcome): Promise<Date> {
  const { status } = outcome;
  const waitMs = status === 'failed' ? null : outcome.waitMs;
  const [row] = await sql<{ ended_at: Date }[]>`
    UPDATE channel_notifications
    SET status = ${status}, reason = ${status === 'accepted' ? null : outcome.reason},
        uncertain = ${status === 'accepted' ? false : outcome.uncertain},
        message_id = ${status === 'accepted' ? outcome.messageId : null},
        tries = CASE WHEN ${status} = 'accepted' THEN 0 ELSE tries END,
        finished_at = CASE WHEN ${status} = 'queued' THEN NULL ELSE clock_timestamp() END,
        next_at = clock_timestamp() + ${waitMs}::float8 * interval '1 millisecond'
    WHERE org_id = ${held.orgId} AND id = ${held.id} AND tries = ${held.tries} AND status IN ('sending', 'requested')
    RETURNING coalesce(finished_at, clock_timestamp()) AS ended_at`;
  return row?.ended_at ?? new Date();
}

/** Schedule the next request for an accepted notification's report after `waitMs`; null for never. */
export async function postponeReport(sql: Sql, held: HeldNotification, waitMs: number | null): Promise<void> {
  await sql`
    UPDATE channel_notifications SET next_at = clock_timestamp() + ${waitMs}::float8 * interval '1 millisecond'
    WHERE org_id = ${held.orgId} AND id = ${held.id} AND tries = ${held.tries} AND status = 'accepted'`;
}

/** Record the report of an accepted notification. `reason` explains a failure or another delivery method. */
export async function recordReport(
  sql: Sql,
  held: HeldNotification,
  report: { readonly status: 'delivered' | 'failed'; readonly reason: string | null },
): Promise<void> {
  await sql`
    UPDATE channel_notifications
    SET status = ${report.status}, reason = ${report.reason}, next_at = NULL,
        delivered_at = CASE WHEN ${report.status} = 'delivered' THEN clock_timestamp() END
    WHERE org_id = ${held.orgId} AND id = ${held.id} AND tries = ${held.tries} AND status = 'accepted'`;
}

/** Return the vendor's ids of a configuration's other notifications with the same number and template. */
export async function selectOtherMessageIds(sql: Sql, held: HeldNotification): Promise<string[]> {
  const { channel_config_id, phone, template_code } = held.request;
  const rows = await sql<{ message_id: string }[]>`
    SELECT message_id FROM channel_notifications
    WHERE org_id = ${held.orgId} AND config_id = ${channel_config_id} AND phone = ${phone}
      AND template_code = ${template_code} AND id <> ${held.id} AND message_id IS NOT NULL
      AND requested_at > ${held.requestedAt}::timestamptz - interval '1 day'
    LIMIT 10000`;
  return rows.map(({ message_id }) => message_id);
}

/** Cancel a waiting notification. Return false if it isn't waiting. */
export async function cancelQueued(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const rows = await sql`
    UPDATE channel_notifications SET status = 'failed', reason = 'cancelled', next_at = NULL, finished_at = now()
    WHERE org_id = ${orgId} AND id = ${id} AND status = 'queued' RETURNING 1`;
  return rows.length > 0;
}

/** Return the state of a notification, or null. */
export async function selectState(sql: Sql, orgId: string, id: string): Promise<string | null> {
  const [row] = await sql<{ status: string }[]>`
    SELECT status FROM channel_notifications WHERE org_id = ${orgId} AND id = ${id}`;
  return row?.status ?? null;
}

function toDue(row: Readonly<Record<string, unknown>>): DueNotification {
  return {
    id: row['id'] as string,
    orgId: row['org_id'] as string,
    request: {
      channel_config_id: row['config_id'] as string,
      phone: row['phone'] as string,
      template_code: row['template_code'] as string,
      template_args: row['template_args'] as Record<string, string>,
      ...(row['options'] as object),
    },
    requestedAt: row['requested_at'] as Date,
    tries: row['tries'] as number,
    status: row['status'] as DueNotification['status'],
    reason: row['reason'] as string | null,
    uncertain: row['uncertain'] as boolean,
    messageId: row['message_id'] as string | null,
    acceptedAt: row['finished_at'] as Date | null,
  };
}
