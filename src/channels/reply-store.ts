import type { Sql } from '../platform/postgres.ts';

/** Identity of a delivery: its configuration, and the SHA-256 of its signature. */
export interface DeliveryKey {
  readonly configId: string;
  readonly digest: Buffer;
}

/**
 * Claim a delivery: it was not seen before, or its reply has expired, or whoever claimed it died. Returns the end of
 * the claim in the database's full precision, which stands for this claim; null: another has it, or it has a reply.
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

/** Reply to a delivery, as JSON; null while it is not known. */
export async function selectReply(sql: Sql, key: DeliveryKey): Promise<string | null> {
  const [row] = await sql<{ reply: string | null }[]>`
    SELECT reply FROM channel_replies
    WHERE config_id = ${key.configId} AND digest = ${key.digest} AND expires_at > clock_timestamp()`;
  return row?.reply ?? null;
}

/** Keep the reply of the claim that still holds. */
export async function storeReply(sql: Sql, key: DeliveryKey, claimedUntil: string, reply: string): Promise<void> {
  await sql`
    UPDATE channel_replies SET reply = ${reply}
    WHERE config_id = ${key.configId} AND digest = ${key.digest}
      AND reply IS NULL AND claimed_until = ${claimedUntil}::text::timestamptz`;
}

/** Give a claim back: the next time, the delivery is a new one. */
export async function deleteClaim(sql: Sql, key: DeliveryKey, claimedUntil: string): Promise<void> {
  await sql`
    DELETE FROM channel_replies
    WHERE config_id = ${key.configId} AND digest = ${key.digest}
      AND reply IS NULL AND claimed_until = ${claimedUntil}::text::timestamptz`;
}

/** Housekeeping over all organizations. Returns how many rows went, at most `rowsMax`. */
export async function deleteExpiredReplies(sql: Sql, rowsMax: number): Promise<number> {
  const result = await sql`
    DELETE FROM channel_replies WHERE (config_id, digest) IN (
      SELECT config_id, digest FROM channel_replies WHERE expires_at <= now() ORDER BY expires_at LIMIT ${rowsMax}
      FOR UPDATE SKIP LOCKED)`;
  return result.count;
}
