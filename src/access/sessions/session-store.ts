import type { SessionSettings } from '../../platform/console-settings.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { Subject } from '../subject.ts';

/** Stored session. It acts for a key, a user or the operator. */
export interface StoredSession extends Subject {
  /** Public name, for the audit log. */
  readonly id: string;
  /** True if it began with a password or passkey. It can then manage the account and may stay idle for longer. */
  readonly isOfAccount: boolean;
}

export interface LiveSession extends StoredSession {
  readonly expiresAt: Date;
  /** Milliseconds until it expires if unused. */
  readonly endsInMs: number;
  /** True if its last use was recorded more than a minute ago. */
  readonly lastUsedIsOld: boolean;
}

/** Idle times after which sessions end. */
type IdleLimits = Pick<SessionSettings, 'sessionIdleMs' | 'accountSessionIdleMs'>;

/** Insert a session that ends after `lifetimeMs`, or at `endsAtMs` if that is earlier. Return the time of its end. */
export async function insertSession(
  sql: Sql,
  session: StoredSession & { hash: Buffer; lifetimeMs: number; endsAtMs: number | null },
): Promise<Date> {
  const { id, hash, orgId, actor, keyId, userId, tokenId, generation, isOfAccount, lifetimeMs, endsAtMs } = session;
  const end = endsAtMs === null ? null : new Date(endsAtMs);
  const [row] = await sql<[{ expires_at: Date }]>`
    INSERT INTO sessions (id, hash, org_id, actor, key_id, user_id, token_id, generation, is_of_account, expires_at)
    VALUES (${id}, ${hash}, ${orgId}, ${actor}, ${keyId}, ${userId}, ${tokenId}, ${generation}, ${isOfAccount},
            least(now() + ${lifetimeMs}::double precision * interval '1 millisecond', ${end}::timestamptz))
    RETURNING expires_at`;
  return row.expires_at;
}

/** Select a live session by the hash of its secret id alone, since its organization isn't known yet. */
export async function selectSession(sql: Sql, hash: Buffer, idle: IdleLimits): Promise<LiveSession | null> {
  const [session] = await sql<LiveSession[]>`
    SELECT id, org_id AS "orgId", actor, key_id AS "keyId", user_id AS "userId", token_id AS "tokenId", generation,
           is_of_account AS "isOfAccount", expires_at AS "expiresAt", last_used_is_old AS "lastUsedIsOld",
           (extract(epoch FROM ends_at - now()) * 1000)::double precision AS "endsInMs"
    FROM (
      SELECT *, least(expires_at, last_used_at + (${idleOf(sql, idle)})) AS ends_at,
             last_used_at <= now() - interval '1 minute' AS last_used_is_old
      FROM sessions WHERE hash = ${hash}
    ) AS session WHERE ends_at > now()`;
  return session ?? null;
}

/** Return the maximum idle time of a row of `sessions`. */
function idleOf(sql: Sql, { sessionIdleMs, accountSessionIdleMs }: IdleLimits): SqlFragment {
  return sql`
    CASE WHEN is_of_account THEN ${accountSessionIdleMs}::double precision ELSE ${sessionIdleMs}::double precision END
      * interval '1 millisecond'`;
}

/** Record the use of a session, at most once a minute. */
export async function updateSessionUse(sql: Sql, orgId: string, id: string): Promise<void> {
  await sql`
    UPDATE sessions SET last_used_at = now()
    WHERE org_id = ${orgId} AND id = ${id} AND last_used_at <= now() - interval '1 minute'`;
}

/** Delete a session by the hash of its secret id. Return it, or null. */
export async function deleteSession(
  sql: Sql,
  hash: Buffer,
): Promise<Pick<StoredSession, 'id' | 'orgId' | 'actor'> | null> {
  const [session] = await sql<Pick<StoredSession, 'id' | 'orgId' | 'actor'>[]>`
    DELETE FROM sessions WHERE hash = ${hash} RETURNING id, org_id AS "orgId", actor`;
  return session ?? null;
}

/** Delete the sessions of an actor. Return their number. */
export async function deleteSessionsOf(sql: Sql, orgId: string, actor: string): Promise<number> {
  return (await sql`DELETE FROM sessions WHERE org_id = ${orgId} AND actor = ${actor}`).count;
}

/** Delete the oldest sessions of an actor beyond `sessionsMax`. */
export async function deleteOldestSessions(
  sql: Sql,
  { orgId, actor }: Pick<StoredSession, 'orgId' | 'actor'>,
  sessionsMax: number,
): Promise<void> {
  await sql`
    DELETE FROM sessions WHERE org_id = ${orgId} AND actor = ${actor} AND id IN (
      SELECT id FROM sessions WHERE org_id = ${orgId} AND actor = ${actor}
      ORDER BY created_at DESC, id DESC OFFSET ${sessionsMax})`;
}

export async function insertSignInLink(
  sql: Sql,
  link: { hash: Buffer; orgId: string; actor: string; lifetimeMs: number },
): Promise<Date> {
  const [row] = await sql<[{ expires_at: Date }]>`
    INSERT INTO sign_in_links (hash, org_id, actor, expires_at)
    VALUES (${link.hash}, ${link.orgId}, ${link.actor},
            now() + ${link.lifetimeMs}::double precision * interval '1 millisecond')
    RETURNING expires_at`;
  return row.expires_at;
}

/** Consume an unexpired link. Return it to the first caller, and null to later ones. */
export async function takeSignInLink(sql: Sql, hash: Buffer): Promise<{ orgId: string; actor: string } | null> {
  const [link] = await sql<{ orgId: string; actor: string }[]>`
    DELETE FROM sign_in_links WHERE hash = ${hash} AND expires_at > now() RETURNING org_id AS "orgId", actor`;
  return link ?? null;
}

/** Delete ended sessions and expired links, across all organizations. */
export async function deleteEndedSessions(sql: Sql, idle: IdleLimits): Promise<void> {
  await sql`DELETE FROM sign_in_links WHERE expires_at <= now()`;
  await sql`
    DELETE FROM sessions WHERE expires_at <= now()
      OR last_used_at <= now() - (${idleOf(sql, idle)})`;
}
