import type { Sql } from '../platform/postgres.ts';
import type { DeliveryOutcome } from './schema.ts';

/** Identity of a delivery: its configuration and the SHA-256 of its signature. */
export interface DeliveryKey {
  readonly configId: string;
  readonly digest: Buffer;
}

/**
 * Claim a delivery that is new, or whose reply or claim has expired. Return the end of the claim in the database's full
 * precision, which identifies the claim. Return null if the delivery is claimed or has a reply.
 */
export async function claimDelivery(
  sql: Sql,
  key: DeliveryKey,
  times: { readonly claimMs: number; readonly keepMs: number },
): Promise<string | null> {
  const [row] = await sql<{ claimed_until: string }[]>`
    WITH claimed AS (
      INSERT INTO channel_replies AS held (config_id, digest, claimed_until, expires_at)
      VALUES (${key.configId}, ${key.digest}, clock_timestamp() + ${times.claimMs} * interval '1 millisecond',
              clock_timestamp() + ${times.keepMs} * interval '1 millisecond')
      ON CONFLICT (config_id, digest) DO UPDATE
      SET reply = NULL, document_ids = '{}', claimed_until = excluded.claimed_until, expires_at = excluded.expires_at
      WHERE held.expires_at <= clock_timestamp() OR (held.reply IS NULL AND held.claimed_until <= clock_timestamp())
      RETURNING config_id, digest, claimed_until
    ), recorded AS (
      INSERT INTO channel_deliveries (config_id, digest, org_id, received_at)
      SELECT claimed.config_id, claimed.digest, channel_configs.org_id, clock_timestamp()
      FROM claimed JOIN channel_configs ON channel_configs.id = claimed.config_id
      ON CONFLICT (config_id, digest) DO UPDATE
      SET received_at = excluded.received_at, outcome = NULL, answered_at = NULL
    )
    SELECT claimed_until::text FROM claimed`;
  return row?.claimed_until ?? null;
}

/** Extend a valid claim and return its new end; null if it is lost. */
export async function renewClaim(
  sql: Sql,
  key: DeliveryKey,
  claimedUntil: string,
  claimMs: number,
): Promise<string | null> {
  const [row] = await sql<{ claimed_until: string }[]>`
    UPDATE channel_replies SET claimed_until = clock_timestamp() + ${claimMs} * interval '1 millisecond'
    WHERE config_id = ${key.configId} AND digest = ${key.digest}
      AND reply IS NULL AND claimed_until = ${claimedUntil}::text::timestamptz
    RETURNING claimed_until::text`;
  return row?.claimed_until ?? null;
}

/** Kept reply as JSON, with the documents that it quotes. */
export interface KeptReply {
  readonly reply: string;
  readonly documentIds: readonly string[];
}

/** Return the reply to a delivery, or null. */
export async function selectReply(sql: Sql, key: DeliveryKey): Promise<KeptReply | null> {
  const [row] = await sql<{ reply: string | null; document_ids: string[] }[]>`
    SELECT reply, document_ids FROM channel_replies
    WHERE config_id = ${key.configId} AND digest = ${key.digest} AND expires_at > clock_timestamp()`;
  return row && row.reply !== null ? { reply: row.reply, documentIds: row.document_ids } : null;
}

/** Expire a reply that may not be repeated, so that the delivery is answered again. */
export async function expireReply(sql: Sql, key: DeliveryKey): Promise<void> {
  await sql`
    UPDATE channel_replies SET expires_at = clock_timestamp()
    WHERE config_id = ${key.configId} AND digest = ${key.digest} AND reply IS NOT NULL`;
}

/** Store the reply and its outcome if the claim is still valid. */
export async function storeReply(
  sql: Sql,
  key: DeliveryKey,
  claimedUntil: string,
  made: KeptReply & { readonly outcome: DeliveryOutcome },
): Promise<void> {
  await sql`
    WITH stored AS (
      UPDATE channel_replies SET reply = ${made.reply}, document_ids = ${sql.array([...made.documentIds])}::text[]
      WHERE config_id = ${key.configId} AND digest = ${key.digest}
        AND reply IS NULL AND claimed_until = ${claimedUntil}::text::timestamptz
      RETURNING config_id, digest
    )
    UPDATE channel_deliveries SET outcome = ${made.outcome}, answered_at = clock_timestamp()
    FROM stored WHERE channel_deliveries.config_id = stored.config_id AND channel_deliveries.digest = stored.digest`;
}

/** Release a claim and delete it from the history, so that a repeated delivery counts as new. */
export async function deleteClaim(sql: Sql, key: DeliveryKey, claimedUntil: string): Promise<void> {
  await sql`
    WITH released AS (
      DELETE FROM channel_replies
      WHERE config_id = ${key.configId} AND digest = ${key.digest}
        AND reply IS NULL AND claimed_until = ${claimedUntil}::text::timestamptz
      RETURNING config_id, digest
    )
    DELETE FROM channel_deliveries USING released
    WHERE channel_deliveries.config_id = released.config_id AND channel_deliveries.digest = released.digest`;
}

/** Delete at most `rowsMax` expired replies of all organizations. Return their number. */
export async function deleteExpiredReplies(sql: Sql, rowsMax: number): Promise<number> {
  const result = await sql`
    DELETE FROM channel_replies WHERE (config_id, digest) IN (
      SELECT config_id, digest FROM channel_replies WHERE expires_at <= now() ORDER BY expires_at LIMIT ${rowsMax}
      FOR UPDATE SKIP LOCKED)`;
  return result.count;
}
