import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { Scope } from '../caller.ts';
import type { Subject } from '../subject.ts';

/** Access that a person gave to a client. */
export interface Grant extends Subject {
  readonly id: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly redirectUri: string;
  /** Audience of its tokens: the address of a tool server. */
  readonly resource: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly lastUsedAt: Date | null;
}

/** Token of a grant that has not ended. */
export interface LiveToken {
  readonly grant: Grant;
  /** Rights of this token: those of the grant, or fewer. */
  readonly scopes: readonly Scope[];
  readonly endsInMs: number;
  /** True for a refresh token that was already exchanged. */
  readonly isUsed: boolean;
  /** True if the last use of the grant was recorded more than a minute ago. */
  readonly lastUsedIsOld: boolean;
}

/** Grant whose authorization code is presented. */
export interface PresentedCode {
  readonly grant: Grant;
  readonly challenge: string;
  readonly isUsed: boolean;
  readonly isExpired: boolean;
}

/** Columns of a `Grant`; the table is `g`. */
function columns(sql: Sql): SqlFragment {
  return sql`
    g.id, g.org_id AS "orgId", g.actor, g.key_id AS "keyId", g.user_id AS "userId", g.token_id AS "tokenId",
    g.generation, g.client_id AS "clientId", g.client_name AS "clientName", g.redirect_uri AS "redirectUri", g.resource,
    g.scopes, g.created_at AS "createdAt", g.expires_at AS "expiresAt", g.last_used_at AS "lastUsedAt"`;
}

/** Insert a grant with the code that the client exchanges for its first tokens. */
export async function insertGrant(
  sql: Sql,
  grant: Omit<Grant, 'createdAt' | 'expiresAt' | 'lastUsedAt'> & { readonly lifetimeMs: number },
  code: { readonly hash: Buffer; readonly challenge: string; readonly lifetimeMs: number },
): Promise<void> {
  const after = (ms: number) => sql`now() + ${ms}::double precision * interval '1 millisecond'`;
  await sql`
    INSERT INTO oauth_grants (id, org_id, actor, key_id, user_id, token_id, generation, client_id, client_name,
      redirect_uri, resource, scopes, expires_at, code_hash, code_challenge, code_expires_at)
    VALUES (${grant.id}, ${grant.orgId}, ${grant.actor}, ${grant.keyId}, ${grant.userId}, ${grant.tokenId},
      ${grant.generation}, ${grant.clientId}, ${grant.clientName}, ${grant.redirectUri}, ${grant.resource},
      ${[...grant.scopes]}, ${after(grant.lifetimeMs)}, ${code.hash}, ${code.challenge}, ${after(code.lifetimeMs)})`;
}

/** Delete the oldest grants of a person beyond `grantsMax`. */
export async function deleteOldestGrants(
  sql: Sql,
  { orgId, actor }: Pick<Grant, 'orgId' | 'actor'>,
  grantsMax: number,
): Promise<void> {
  await sql`
    DELETE FROM oauth_grants WHERE org_id = ${orgId} AND actor = ${actor} AND id IN (
      SELECT id FROM oauth_grants WHERE org_id = ${orgId} AND actor = ${actor}
      ORDER BY created_at DESC, id DESC OFFSET ${grantsMax})`;
}

/** Lock the grant of an authorization code, found by the code's hash alone, and mark the code as used. */
export async function takeCode(sql: Sql, hash: Buffer): Promise<PresentedCode | null> {
  const [row] = await sql<(Grant & Omit<PresentedCode, 'grant'>)[]>`
    SELECT ${columns(sql)}, code_challenge AS challenge, code_is_used AS "isUsed",
           code_expires_at <= now() OR expires_at <= now() AS "isExpired"
    FROM oauth_grants g WHERE code_hash = ${hash} FOR UPDATE`;
  if (!row) return null;
  const { challenge, isUsed, isExpired, ...grant } = row;
  await sql`UPDATE oauth_grants SET code_is_used = true WHERE org_id = ${grant.orgId} AND id = ${grant.id}`;
  return { grant, challenge, isUsed, isExpired };
}

export async function insertToken(
  sql: Sql,
  token: {
    readonly hash: Buffer;
    readonly grantId: string;
    readonly kind: 'access' | 'refresh';
    readonly scopes: readonly Scope[];
    readonly expiresAt: Date;
  },
): Promise<void> {
  await sql`
    INSERT INTO oauth_tokens (hash, grant_id, kind, scopes, expires_at)
    VALUES (${token.hash}, ${token.grantId}, ${token.kind}, ${[...token.scopes]}, ${token.expiresAt})`;
}

/** Select an unexpired token by hash alone, since its organization isn't known yet. */
export async function selectToken(sql: Sql, hash: Buffer, kind: 'access' | 'refresh'): Promise<LiveToken | null> {
  const [row] = await sql<(Grant & Omit<LiveToken, 'grant' | 'scopes'> & { tokenScopes: Scope[] })[]>`
    SELECT ${columns(sql)}, t.scopes AS "tokenScopes", t.is_used AS "isUsed",
           (extract(epoch FROM least(t.expires_at, g.expires_at) - now()) * 1000)::double precision AS "endsInMs",
           coalesce(g.last_used_at <= now() - interval '1 minute', true) AS "lastUsedIsOld"
    FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id
    WHERE t.hash = ${hash} AND t.kind = ${kind} AND t.expires_at > now() AND g.expires_at > now()`;
  if (!row) return null;
  const { tokenScopes: scopes, isUsed, endsInMs, lastUsedIsOld, ...grant } = row;
  return { grant, scopes, isUsed, endsInMs, lastUsedIsOld };
}

/** Mark a refresh token as used. Keep it for a week to detect reuse. Return false if another request used it first. */
export async function spendRefreshToken(sql: Sql, hash: Buffer): Promise<boolean> {
  const marked = await sql`
    UPDATE oauth_tokens SET is_used = true, expires_at = least(expires_at, now() + interval '7 days')
    WHERE hash = ${hash} AND NOT is_used`;
  return marked.count === 1;
}

export async function updateGrantUse(sql: Sql, { orgId, id }: Pick<Grant, 'orgId' | 'id'>): Promise<void> {
  await sql`
    UPDATE oauth_grants SET last_used_at = now()
    WHERE org_id = ${orgId} AND id = ${id} AND (last_used_at IS NULL OR last_used_at <= now() - interval '1 minute')`;
}

/** List grants that have not ended, newest first. @param actor person who gave them; null for everybody */
export async function selectGrants(
  sql: Sql,
  orgId: string,
  { actor, limit }: { readonly actor: string | null; readonly limit: number },
): Promise<Grant[]> {
  return sql<Grant[]>`
    SELECT ${columns(sql)} FROM oauth_grants g
    WHERE org_id = ${orgId} AND expires_at > now() AND ${actor === null ? sql`true` : sql`actor = ${actor}`}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
}

/** Select a grant that has not ended. */
export async function selectGrant(sql: Sql, orgId: string, id: string): Promise<Grant | null> {
  const [grant] = await sql<Grant[]>`
    SELECT ${columns(sql)} FROM oauth_grants g WHERE org_id = ${orgId} AND id = ${id} AND expires_at > now()`;
  return grant ?? null;
}

/** Delete a grant with its tokens. Return false if there is none. @param actor person who gave it; null for anybody */
export async function deleteGrant(sql: Sql, orgId: string, id: string, actor: string | null = null): Promise<boolean> {
  const deleted = await sql`
    DELETE FROM oauth_grants
    WHERE org_id = ${orgId} AND id = ${id} AND ${actor === null ? sql`true` : sql`actor = ${actor}`}`;
  return deleted.count === 1;
}

/** Delete grants that have ended or whose code was never exchanged, and expired tokens. */
export async function deleteEndedGrants(sql: Sql): Promise<void> {
  await sql`
    DELETE FROM oauth_grants
    WHERE expires_at <= now() OR (NOT code_is_used AND code_expires_at <= now() - interval '1 hour')`;
  await sql`DELETE FROM oauth_tokens WHERE expires_at <= now()`;
}
