import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { ListDeliveriesQuery, WebhookDelivery, WebhookEvent } from './schema.ts';

/** Columns of a `WebhookDelivery`. */
function columns(sql: Sql): SqlFragment {
  return sql`
    id, type, object_id, status, tries, reply_status, error, occurred_at, tried_at,
    CASE WHEN status = 'pending' THEN next_at END AS next_try_at, finished_at, data`;
}

const toView = withIsoTimes<WebhookDelivery>;

/** Delivery claimed by a process. */
export interface HeldDelivery extends WebhookEvent {
  readonly id: string;
  readonly orgId: string;
  readonly endpointId: string;
  /** Number of the claim, which serves as a fencing token. */
  readonly tries: number;
  /** Time since the event or its replay. */
  readonly ageMs: number;
}

/** New event of one endpoint that isn't written by a trigger. */
export interface NewDelivery {
  readonly endpointId: string;
  readonly id: string;
  readonly orgId: string;
  readonly type: string;
  readonly objectId: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Deduplication key, under which an event is written once; null to always write it. */
  readonly onceKey: string | null;
}

export async function insertDelivery(tx: Sql, delivery: NewDelivery): Promise<void> {
  const { endpointId, id, orgId, type, objectId, data, onceKey } = delivery;
  await tx`
    INSERT INTO webhook_deliveries (endpoint_id, id, org_id, type, object_id, data, once_key)
    VALUES (${endpointId}, ${id}, ${orgId}, ${type}, ${objectId}, ${tx.json(data as never)}, ${onceKey})
    ON CONFLICT (endpoint_id, once_key) WHERE once_key IS NOT NULL DO NOTHING`;
}

/**
 * Claim due events of an endpoint for `leaseMs`. An event waits while an earlier event of the same object is pending,
 * so that receivers get the events of an object in order.
 */
export async function claimDue(
  sql: Sql,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  { rowsMax, leaseMs }: { readonly rowsMax: number; readonly leaseMs: number },
): Promise<HeldDelivery[]> {
  return sql<HeldDelivery[]>`
    UPDATE webhook_deliveries d
    SET tries = d.tries + 1, tried_at = clock_timestamp(),
        next_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    FROM (
      SELECT due.seq FROM webhook_deliveries due
      WHERE due.org_id = ${orgId} AND due.endpoint_id = ${id} AND due.status = 'pending'
        AND due.next_at <= clock_timestamp()
        AND NOT EXISTS (
          SELECT 1 FROM webhook_deliveries earlier
          WHERE earlier.endpoint_id = due.endpoint_id AND earlier.object_id = due.object_id
            AND earlier.status = 'pending' AND earlier.seq < due.seq)
      ORDER BY due.next_at, due.seq LIMIT ${rowsMax} FOR UPDATE OF due SKIP LOCKED
    ) AS claimed
    WHERE d.endpoint_id = ${id} AND d.seq = claimed.seq
    RETURNING d.id, d.org_id AS "orgId", d.endpoint_id AS "endpointId", d.type, d.occurred_at AS "occurredAt", d.data,
              d.tries, extract(epoch FROM clock_timestamp() - d.queued_at)::float8 * 1000 AS "ageMs"`;
}

/** Record a delivered event, which may have been given up or claimed again meanwhile. */
export async function recordDelivered(sql: Sql, held: HeldDelivery, replyStatus: number): Promise<void> {
  await sql`
    UPDATE webhook_deliveries
    SET status = 'delivered', reply_status = ${replyStatus}, error = NULL, finished_at = clock_timestamp()
    WHERE org_id = ${held.orgId} AND endpoint_id = ${held.endpointId} AND id = ${held.id}
      AND status <> 'delivered'`;
}

/** Failed attempt to deliver an event. */
export interface FailedTry {
  readonly replyStatus: number | null;
  readonly error: string;
}

/** Record a failed attempt. Retry after `waitMs`, or never if null. */
export async function recordFailed(
  sql: Sql,
  held: HeldDelivery,
  { replyStatus, error }: FailedTry,
  waitMs: number | null,
): Promise<void> {
  await sql`
    UPDATE webhook_deliveries
    SET status = CASE WHEN ${waitMs}::float8 IS NULL THEN 'failed' ELSE 'pending' END, reply_status = ${replyStatus},
        error = ${error}, finished_at = CASE WHEN ${waitMs}::float8 IS NULL THEN clock_timestamp() END,
        next_at = clock_timestamp() + coalesce(${waitMs}::float8, 0) * interval '1 millisecond'
    WHERE org_id = ${held.orgId} AND endpoint_id = ${held.endpointId} AND id = ${held.id}
      AND status = 'pending' AND tries = ${held.tries}`;
}

/** Release an event on shutdown, so that another process sends it at once. */
export async function releaseDelivery(sql: Sql, held: HeldDelivery): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET next_at = clock_timestamp()
    WHERE org_id = ${held.orgId} AND endpoint_id = ${held.endpointId} AND id = ${held.id}
      AND status = 'pending' AND tries = ${held.tries}`;
}

/** Give up at most `rowsMax` events of an endpoint that have waited longer than `ageMs`. Return their number. */
export async function giveUpOld(
  sql: Sql,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  { ageMs, error, rowsMax }: { readonly ageMs: number; readonly error: string; readonly rowsMax: number },
): Promise<number> {
  const rows = await sql`
    UPDATE webhook_deliveries d SET status = 'failed', error = ${error}, finished_at = clock_timestamp()
    FROM (
      SELECT seq FROM webhook_deliveries
      WHERE org_id = ${orgId} AND endpoint_id = ${id} AND status = 'pending'
        AND queued_at <= clock_timestamp() - ${ageMs}::float8 * interval '1 millisecond'
      LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE d.endpoint_id = ${id} AND d.seq = old.seq
    RETURNING 1`;
  return rows.length;
}

/** List deliveries of an endpoint, newest first. @param query.cursor id of the last delivery on the previous page */
export async function selectDeliveries(
  sql: Sql,
  orgId: string,
  endpointId: string,
  { status, limit, cursor }: ListDeliveriesQuery,
): Promise<WebhookDelivery[]> {
  const after = sql`
    AND seq < (SELECT last.seq FROM webhook_deliveries last
               WHERE last.org_id = ${orgId} AND last.endpoint_id = ${endpointId} AND last.id = ${cursor ?? ''})`;
  const rows = await sql`
    SELECT ${columns(sql)} FROM webhook_deliveries
    WHERE org_id = ${orgId} AND endpoint_id = ${endpointId}
      ${status === undefined ? sql`` : sql`AND status = ${status}`} ${cursor === undefined ? sql`` : after}
    ORDER BY seq DESC LIMIT ${limit}`;
  return rows.map(toView);
}

/** Replay a delivery unless it is pending. Return it, or null if it doesn't exist. */
export async function replayOne(
  tx: Sql,
  { orgId, endpointId, id }: { readonly orgId: string; readonly endpointId: string; readonly id: string },
): Promise<WebhookDelivery | null> {
  await tx`
    UPDATE webhook_deliveries SET ${queuedAgain(tx)}
    WHERE org_id = ${orgId} AND endpoint_id = ${endpointId} AND id = ${id} AND status <> 'pending'`;
  const [row] = await tx`
    SELECT ${columns(tx)} FROM webhook_deliveries
    WHERE org_id = ${orgId} AND endpoint_id = ${endpointId} AND id = ${id}`;
  return row ? toView(row) : null;
}

/** Replay the failed deliveries of events since a time, the oldest `rowsMax`. Return their number. */
export async function replayFailed(
  tx: Sql,
  { orgId, endpointId }: { readonly orgId: string; readonly endpointId: string },
  since: Date,
  rowsMax: number,
): Promise<number> {
  const rows = await tx`
    UPDATE webhook_deliveries d SET ${queuedAgain(tx)}
    FROM (
      SELECT seq FROM webhook_deliveries
      WHERE org_id = ${orgId} AND endpoint_id = ${endpointId} AND status = 'failed' AND occurred_at >= ${since}
      ORDER BY seq LIMIT ${rowsMax}
    ) AS failed
    WHERE d.endpoint_id = ${endpointId} AND d.seq = failed.seq RETURNING 1`;
  return rows.length;
}

function queuedAgain(sql: Sql) {
  return sql`
    status = 'pending', error = NULL, reply_status = NULL, finished_at = NULL,
    next_at = clock_timestamp(), queued_at = clock_timestamp()`;
}

/** Delete at most `rowsMax` old finished deliveries of all organizations. Return their number. */
export async function deleteOldDeliveries(
  sql: Sql,
  {
    deliveredMs,
    failedMs,
    onceMs,
  }: { readonly deliveredMs: number; readonly failedMs: number; readonly onceMs: number },
  rowsMax: number,
): Promise<number> {
  const rows = await sql`
    DELETE FROM webhook_deliveries d USING (
      SELECT endpoint_id, seq FROM webhook_deliveries
      WHERE finished_at < clock_timestamp() - ${deliveredMs}::float8 * interval '1 millisecond'
        AND finished_at < clock_timestamp() - interval '1 millisecond' * CASE WHEN once_key IS NOT NULL THEN ${onceMs}::float8 WHEN status = 'failed' THEN ${failedMs}::float8
               ELSE ${deliveredMs}::float8 END
      LIMIT ${rowsMax}
    ) AS old
    WHERE d.endpoint_id = old.endpoint_id AND d.seq = old.seq RETURNING 1`;
  return rows.length;
}
