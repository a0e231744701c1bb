import type { Sql } from '../platform/postgres.ts';

/** Delivery of the messenger that was verified, and its reply. */
export interface DeliveryRow {
  /** SHA-256 of its signature, in hex. */
  readonly id: string;
  readonly configId: string;
  readonly receivedAt: Date;
  /** JSON of the reply; null until it is known. */
  readonly reply: string | null;
  /** True if it has no reply, and the process that made it has gone. */
  readonly isAbandoned: boolean;
}

/**
 * List verified deliveries of an organization, newest first. They are kept as long as a repeated one gets the same reply.
 *
 * @param page.after id of the delivery before the first one
 */
export async function selectDeliveries(
  sql: Sql,
  orgId: string,
  page: { configId: string | undefined; keepMs: number; limit: number; after: string | undefined },
): Promise<DeliveryRow[]> {
  const { configId, keepMs, limit, after } = page;
  const rows = await sql`
    SELECT encode(r.digest, 'hex') AS id, r.config_id, r.reply,
           r.expires_at - ${keepMs} * interval '1 millisecond' AS received_at,
           r.reply IS NULL AND r.claimed_until <= now() AS is_abandoned
    FROM channel_replies r JOIN channel_configs c ON c.id = r.config_id
    WHERE c.org_id = ${orgId} AND r.expires_at > now()
      ${configId === undefined ? sql`` : sql`AND r.config_id = ${configId}`}
      ${after === undefined ? sql`` : sql`AND (r.expires_at, r.digest) < (SELECT a.expires_at, a.digest FROM channel_replies a JOIN channel_configs ac ON ac.id = a.config_id WHERE ac.org_id = ${orgId} AND encode(a.digest, 'hex') = ${after})`}
    ORDER BY r.expires_at DESC, r.digest DESC LIMIT ${limit}`;
  return rows.map((row) => ({
    id: row['id'] as string,
    configId: row['config_id'] as string,
    receivedAt: row['received_at'] as Date,
    reply: row['reply'] as string | null,
    isAbandoned: row['is_abandoned'] as boolean,
  }));
}
