import { isStaying } from '../../access/move-store.ts';
import type { Sql } from '../../platform/postgres.ts';

/** Identity of a later reply: its organization and delivery. */
export interface LaterKey {
  readonly orgId: string;
  readonly configId: string;
  readonly digest: Buffer;
}

/** Reply claimed by this process. */
export interface ClaimedRow extends LaterKey {
  readonly sealed: Buffer;
  /** Time left until the platform no longer accepts the reply. */
  readonly leftMs: number;
}

/**
 * Record a reply and its delivery. For a repeated delivery, change nothing and return false, unless the reply failed
 * and the platform certainly doesn't have it.
 *
 * @param times.claimMs lease of the claiming process; zero for no claim
 */
export async function insertLater(
  sql: Sql,
  key: LaterKey,
  row: { readonly sealed: Buffer; readonly claim: string | null },
  times: { readonly limitMs: number; readonly claimMs: number },
): Promise<boolean> {
  const { orgId, configId, digest } = key;
  const rows = await sql`
    WITH stored AS (
      INSERT INTO channel_later_replies AS held
        (config_id, digest, org_id, sealed, status, received_at, expires_at, claim, due_at)
      VALUES (${configId}, ${digest}, ${orgId}, ${row.sealed}, 'waiting', clock_timestamp(),
              clock_timestamp() + ${times.limitMs}::float8 * interval '1 millisecond', ${row.claim},
              clock_timestamp() + ${times.claimMs} * interval '1 millisecond')
      ON CONFLICT (config_id, digest) DO UPDATE
      SET sealed = excluded.sealed, status = 'waiting', reason = NULL, received_at = excluded.received_at,
          expires_at = excluded.expires_at, claim = excluded.claim, due_at = excluded.due_at, finished_at = NULL
      WHERE held.status = 'failed' AND NOT held.uncertain
      RETURNING config_id, digest, org_id, received_at
    ), recorded AS (
      INSERT INTO channel_deliveries (config_id, digest, org_id, received_at) SELECT * FROM stored
      ON CONFLICT (config_id, digest) DO NOTHING
    )
    SELECT 1 FROM stored`;
  return rows.length > 0;
}

/** Claim unclaimed replies of all organizations, oldest first. */
export async function claimDue(
  sql: Sql,
  { claim, claimMs, rowsMax }: { readonly claim: string; readonly claimMs: number; readonly rowsMax: number },
): Promise<ClaimedRow[]> {
  return sql<ClaimedRow[]>`
    UPDATE channel_later_replies SET claim = ${claim}, due_at = clock_timestamp() + ${claimMs} * interval '1 millisecond'
    WHERE (config_id, digest) IN (
      SELECT config_id, digest FROM channel_later_replies
      WHERE status = 'waiting' AND due_at <= clock_timestamp() AND expires_at > clock_timestamp()
        AND ${isStaying(sql, 'org_id')}
      ORDER BY due_at LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED)
    RETURNING org_id AS "orgId", config_id AS "configId", digest, sealed,
              extract(epoch FROM expires_at - clock_timestamp())::float8 * 1000 AS "leftMs"`;
}

/** Extend the claim of a waiting reply. Return false if the claim is lost. */
export async function extendClaim(sql: Sql, key: LaterKey, claim: string, claimMs: number): Promise<boolean> {
  const result = await sql`
    UPDATE channel_later_replies SET due_at = clock_timestamp() + ${claimMs} * interval '1 millisecond'
    WHERE ${isClaimed(sql, key, claim)} AND status = 'waiting'`;
  return result.count > 0;
}

/** Release a waiting reply to other processes. */
export async function releaseLater(sql: Sql, key: LaterKey, claim: string, reason: string | null): Promise<void> {
  await sql`
    UPDATE channel_later_replies SET claim = NULL, due_at = clock_timestamp(), reason = coalesce(${reason}, reason)
    WHERE ${isClaimed(sql, key, claim)} AND status = 'waiting'`;
}

/**
 * Mark a reply as being sent. Return false if the claim is lost or the platform no longer accepts the reply.
 *
 * @param sendingMs time after which the process counts as dead
 */
export async function beginSending(sql: Sql, key: LaterKey, claim: string, sendingMs: number): Promise<boolean> {
  const result = await sql`
    UPDATE channel_later_replies
    SET status = 'sending', due_at = clock_timestamp() + ${sendingMs} * interval '1 millisecond'
    WHERE ${isClaimed(sql, key, claim)} AND status = 'waiting' AND expires_at > clock_timestamp()`;
  return result.count > 0;
}

/** Return a reply that the platform didn't accept to the waiting state, until its next call. */
export async function waitAgain(
  sql: Sql,
  key: LaterKey,
  claim: string,
  { claimMs, reason }: { readonly claimMs: number; readonly reason: string },
): Promise<void> {
  await sql`
    UPDATE channel_later_replies
    SET status = 'waiting', reason = ${reason}, due_at = clock_timestamp() + ${claimMs} * interval '1 millisecond'
    WHERE ${isClaimed(sql, key, claim)} AND status = 'sending'`;
}

/** Record the end of a reply, and erase its question and address. Return false if it has already ended. */
export async function finishLater(
  sql: Sql,
  key: LaterKey,
  claim: string,
  end: { readonly status: 'sent' | 'failed'; readonly reason: string | null; readonly uncertain: boolean },
): Promise<boolean> {
  const result = await sql`
    UPDATE channel_later_replies
    SET status = ${end.status}, reason = ${end.reason}, uncertain = ${end.uncertain}, sealed = NULL,
        finished_at = clock_timestamp()
    WHERE ${isClaimed(sql, key, claim)} AND status IN ('waiting', 'sending')`;
  return result.count > 0;
}

/**
 * Give up replies of all organizations that the platform no longer accepts, and those whose process died while sending;
 * the platform may have the latter. Return the configuration of each.
 */
export async function giveUpLate(sql: Sql): Promise<string[]> {
  const rows = await sql<{ config_id: string }[]>`
    UPDATE channel_later_replies
    SET reason = CASE status WHEN 'sending' THEN 'interrupted' ELSE coalesce(reason, 'too_late') END,
        uncertain = status = 'sending', status = 'failed', sealed = NULL, finished_at = clock_timestamp()
    WHERE (status = 'sending' AND due_at <= clock_timestamp()) OR (status = 'waiting' AND expires_at <= clock_timestamp())
    RETURNING config_id`;
  return rows.map(({ config_id }) => config_id);
}

/** Delete at most `rowsMax` replies of all organizations that are older than `ageMs`. */
export async function deleteOldLater(sql: Sql, ageMs: number, rowsMax: number): Promise<void> {
  await sql`
    DELETE FROM channel_later_replies WHERE (config_id, digest) IN (
      SELECT config_id, digest FROM channel_later_replies
      WHERE received_at < now() - ${ageMs}::float8 * interval '1 millisecond' AND status IN ('sent', 'failed')
      ORDER BY received_at LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED)`;
}

function isClaimed(sql: Sql, { orgId, configId, digest }: LaterKey, claim: string) {
  return sql`org_id = ${orgId} AND config_id = ${configId} AND digest = ${digest} AND claim = ${claim}`;
}
