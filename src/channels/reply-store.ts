import type { Sql } from '../platform/postgres.ts';

/** Identity of a delivery: its configuration, and the SHA-256 of its signature. */
export interface DeliveryKey {
  readonly configId: string;
  readonly digest: Buffer;
}

/**
 * Claim a delivery that is new, or whose reply or claim has expired. Return the end of the claim in the full precision of
 * the database, which identifies the claim, or null if the delivery is claimed or has a reply.
 */
export async function claimDelivery(
  sql: Sql,
  key: DeliveryKey,
  times: { readonly claimMs: number; readonly keepMs: number },
): Promise<string | null> {
  const [row] = await sql<{ claimed_until: string }[]>`
    INSERT INTO channel_replies AS held (config_id, digest, claimed_until, expires_at)
    VALUES (${key.configId}, ${key.digest}, clock_timestamp() + ${times.claimMs} * interval '1 millisecond',
            clock_timestamp() + ${times.keepMs} * interval '1 millisecond')
    ON CONFLICT (config_id, digest) DO UPDATE
    SET reply = NULL, claimed_until = excluded.claimed_until, expires_at = excluded.expires_at
    WHERE held.expires_at <= clock_timestamp() OR (held.reply IS NULL AND held.claimed_until <= clock_timestamp())
    RETURNING claimed_until::text`;
  return row?.claimed_until ?? null;
}

/** Return the reply to a delivery as JSON, or null if there is none yet. */
export async function selectReply(sql: Sql, key: DeliveryKey): Promise<string | null> {
  const [row] = await sql<{ reply: string | null }[]>`
    SELECT reply FROM channel_replies
    WHERE config_id = ${key.configId} AND digest = ${key.digest} AND expires_at > clock_timestamp()`;
  return row?.reply ?? null;
}

/** Store the reply if the claim is still valid. */
export async function storeReply(sql: Sql, key: DeliveryKey, claimedUntil: string, reply: string): Promise<void> {
  await sql`
    UPDATE channel_replies SET reply = ${reply}
    WHERE config_id = ${key.configId} AND digest = ${key.digest}
      AND reply IS NULL AND claimed_until = ${claimedUntil}::text::timestamptz`;
}

/** Release a claim, so that the delivery is new if it is repeated. */
export async function deleteClaim(sql: Sql, key: DeliveryKey, claimedUntil: string): Promise<void> {
  await sql`
    DELETE FROM channel_replies
    WHERE config_id = ${key.configId} AND digest = ${key.digest}
      AND reply IS NULL AND claimed_until = ${claimedUntil}::text::timestamptz`;
}

/** Delete expired replies of all organizations, at most `rowsMax`, and return their number. */
export async function deleteExpiredReplies(sql: Sql, rowsMax: number): Promise<number> {
  const result = await sql`
    DELETE FROM channel_replies WHERE (config_id, digest) IN (
      SELECT config_id, digest FROM channel_replies WHERE expires_at <= now() ORDER BY expires_at LIMIT ${rowsMax}
      FOR UPDATE SKIP LOCKED)`;
  return result.count;
}
