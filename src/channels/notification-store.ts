import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { NotificationRecord, ResendOptions, SendRequest } from './schema.ts';

/** Columns of a `NotificationRecord`. */
function columns(sql: Sql): SqlFragment {
  return sql`
    id, config_id AS channel_config_id, via, CASE status WHEN 'requested' THEN 'sending' ELSE status END AS status,
    reason, uncertain, message_id, phone, template_code, template_args, requested_at, finished_at,
    CASE WHEN status = 'queued' THEN next_at END AS next_attempt_at, delivered_at`;
}

export interface NewNotification {
  readonly id: string;
  readonly orgId: string;
  readonly actor: string;
  readonly idempotencyKey: string | null;
  readonly via: NotificationRecord['via'];
  readonly request: SendRequest;
  /** Time after which the outbox takes over from a dead process; null if it must not. */
  readonly leaseMs: number | null;
}

/**
 * Record a notification request and return the record's id. If a record with the same idempotency key failed and was
 * certainly not sent, restart it. Otherwise change nothing and return null.
 */
export async function insertNotification(sql: Sql, notification: NewNotification): Promise<string | null> {
  const { request, leaseMs } = notification;
  const [row] = await sql<{ id: string }[]>`
    INSERT INTO channel_notifications AS held (id, org_id, config_id, actor, idempotency_key, phone, template_code,
                                               template_args, options, via, status, tries, next_at)
    VALUES (${notification.id}, ${notification.orgId}, ${request.channel_config_id}, ${notification.actor},
            ${notification.idempotencyKey}, ${request.phone}, ${request.template_code},
            ${sql.json(request.template_args)}, ${sql.json(optionsOf(request))}, ${notification.via}, 'sending', 1,
            clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond')
    ON CONFLICT (org_id, actor, idempotency_key) WHERE idempotency_key IS NOT NULL DO UPDATE
    SET config_id = excluded.config_id, phone = excluded.phone, template_code = excluded.template_code,
        template_args = excluded.template_args, options = excluded.options, via = excluded.via, status = 'sending',
        reason = NULL, tries = 1, next_at = excluded.next_at, requested_at = now(), finished_at = NULL
    WHERE held.status = 'failed' AND NOT held.uncertain
    RETURNING id`;
  return row?.id ?? null;
}

/** Return the fields of the fallback text message. */
export function optionsOf({ resend, resend_text, resend_title }: ResendOptions): Record<string, string | boolean> {
  return JSON.parse(JSON.stringify({ resend, resend_text, resend_title }));
}

export async function selectByKey(
  sql: Sql,
  key: { readonly orgId: string; readonly actor: string; readonly idempotencyKey: string },
): Promise<(NotificationRecord & { readonly options: ResendOptions }) | null> {
  const [row] = await sql`
    SELECT ${columns(sql)}, options FROM channel_notifications
    WHERE org_id = ${key.orgId} AND actor = ${key.actor} AND idempotency_key = ${key.idempotencyKey}`;
  return row ? withIsoTimes(row) : null;
}

/** Return an organization's records, newest first. @param filter.after id of the last record on the previous page */
export async function selectNotifications(
  sql: Sql,
  orgId: string,
  filter: { readonly configId: string | null; readonly rowsMax: number; readonly after?: string | undefined },
): Promise<NotificationRecord[]> {
  const rows = await sql`
    SELECT ${columns(sql)} FROM channel_notifications
    WHERE org_id = ${orgId} ${filter.configId === null ? sql`` : sql`AND config_id = ${filter.configId}`}
      ${filter.after === undefined ? sql`` : sql`AND (requested_at, id) < (SELECT n.requested_at, n.id FROM channel_notifications n WHERE n.org_id = ${orgId} AND n.id = ${filter.after})`}
    ORDER BY requested_at DESC, id DESC LIMIT ${filter.rowsMax}`;
  return rows.map(withIsoTimes<NotificationRecord>);
}

/** Mark the notifications of dead processes, in all organizations, as failed with an uncertain outcome. */
export async function failInterrupted(sql: Sql, ageMs: number): Promise<void> {
  await sql`
    UPDATE channel_notifications SET status = 'failed', reason = 'interrupted', uncertain = true, finished_at = now()
    WHERE status IN ('requested', 'sending') AND next_at IS NULL
      AND requested_at < now() - ${ageMs} * interval '1 millisecond'`;
}

/** Delete old records of all organizations, since they contain phone numbers. */
export async function deleteOldNotifications(sql: Sql, ageMs: number): Promise<void> {
  await sql`DELETE FROM channel_notifications WHERE requested_at < now() - ${ageMs} * interval '1 millisecond'`;
}
