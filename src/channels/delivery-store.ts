import type { Sql } from '../platform/postgres.ts';
import type { DeliveryOutcome } from './schema.ts';

/** Verified delivery from the messenger. */
export interface DeliveryRow {
  /** SHA-256 of its signature, in hex. */
  readonly id: string;
  readonly configId: string;
  readonly receivedAt: Date;
  /** Outcome; null without a reply. */
  readonly outcome: DeliveryOutcome | null;
  readonly answeredAt: Date | null;
  /** Reply as JSON, while it is kept. */
  readonly reply: string | null;
  /** True while a process is creating the reply. */
  readonly isClaimed: boolean;
  /** State of a later reply; null if the reply is the response. */
  readonly later: {
    readonly status: 'waiting' | 'sending' | 'sent' | 'failed';
    readonly reason: string | null;
    readonly isUncertain: boolean;
  } | null;
}

/**
 * List an organization's verified deliveries, newest first.
 *
 * @param page.after id of the last delivery on the previous page
 */
export async function selectDeliveries(
  sql: Sql,
  orgId: string,
  page: { configId: string | undefined; limit: number; after: string | undefined },
): Promise<DeliveryRow[]> {
  const { configId, limit, after } = page;
  return sql<DeliveryRow[]>`
    SELECT encode(d.digest, 'hex') AS id, d.config_id AS "configId", d.received_at AS "receivedAt", d.outcome,
           d.answered_at AS "answeredAt", r.reply, coalesce(r.claimed_until > now(), false) AS "isClaimed",
           CASE WHEN l.status IS NOT NULL
             THEN jsonb_build_object('status', l.status, 'reason', l.reason, 'isUncertain', l.uncertain) END AS later
    FROM channel_deliveries d
    LEFT JOIN channel_later_replies l ON l.config_id = d.config_id AND l.digest = d.digest
    LEFT JOIN channel_replies r ON r.config_id = d.config_id AND r.digest = d.digest AND r.expires_at > now()
    WHERE d.org_id = ${orgId}
      ${configId === undefined ? sql`` : sql`AND d.config_id = ${configId}`}
      ${after === undefined ? sql`` : sql`AND (d.received_at, d.digest) < ${placeOf(sql, orgId, after)}`}
    ORDER BY d.received_at DESC, d.digest DESC LIMIT ${limit}`;
}

/** Build the position of a delivery in the list, looked up by primary key. */
function placeOf(sql: Sql, orgId: string, id: string) {
  return sql`(
    SELECT a.received_at, a.digest FROM channel_deliveries a
    WHERE a.org_id = ${orgId} AND a.digest = ${Buffer.from(id, 'hex')}
      AND a.config_id = ANY(ARRAY(SELECT c.id FROM channel_configs c WHERE c.org_id = ${orgId})) LIMIT 1)`;
}

/** Delete at most `rowsMax` deliveries of all organizations that are older than `ageMs`. Return their number. */
export async function deleteOldDeliveries(sql: Sql, ageMs: number, rowsMax: number): Promise<number> {
  const result = await sql`
    DELETE FROM channel_deliveries WHERE (config_id, digest) IN (
      SELECT d.config_id, d.digest FROM channel_deliveries d
      WHERE d.received_at < now() - ${ageMs}::double precision * interval '1 millisecond'
        AND NOT EXISTS (SELECT 1 FROM channel_replies r
                        WHERE r.config_id = d.config_id AND r.digest = d.digest AND r.expires_at > now())
      ORDER BY d.received_at LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED)`;
  return result.count;
}
