import type { Sql } from '../../platform/postgres.ts';
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

interface GrantRow {
  id: string;
  org_id: string;
  actor: string;
  key_id: string | null;
  user_id: string | null;
  token_id: string | null;
  generation: number;
  client_id: string;
  client_name: string;
  redirect_uri: string;
  resource: string;
  scopes: Scope[];
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
}

function toGrant(row: GrantRow): Grant {
  return {
    id: row.id,
    orgId: row.org_id,
    actor: row.actor,
    keyId: row.key_id,
    userId: row.user_id,
    tokenId: row.token_id,
    generation: row.generation,
    clientId: row.client_id,
    clientName: row.client_name,
    redirectUri: row.redirect_uri,
    resource: row.resource,
    scopes: row.scopes,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
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
  const [row] = await sql<(GrantRow & { code_challenge: string; code_is_used: boolean; is_expired: boolean })[]>`
    SELECT *, code_expires_at <= now() OR expires_at <= now() AS is_expired
    FROM oauth_grants WHERE code_hash = ${hash} FOR UPDATE`;
  if (!row) return null;
  await sql`UPDATE oauth_grants SET code_is_used = true WHERE org_id = ${row.org_id} AND id = ${row.id}`;
  return {
    grant: toGrant(row),
    challenge: row.code_challenge,
    isUsed: row.code_is_used,
    isExpired: row.is_expired,
  };
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
  const [row] = await sql<
    (GrantRow & { own_scopes: Scope[]; is_used: boolean; ends_in_ms: number; last_used_is_old: boolean })[]
  >`
    SELECT g.*, t.scopes AS own_scopes, t.is_used,
           (extract(epoch FROM least(t.expires_at, g.expires_at) - now()) * 1000)::double precision AS ends_in_ms,
           coalesce(g.last_used_at <= now() - interval '1 minute', true) AS last_used_is_old
    FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id
    WHERE t.hash = ${hash} AND t.kind = ${kind} AND t.expires_at > now() AND g.expires_at > now()`;
  if (!row) return null;
  const { own_scopes: scopes, is_used: isUsed, ends_in_ms: endsInMs, last_used_is_old: lastUsedIsOld } = row;
  return { grant: toGrant(row), scopes, isUsed, endsInMs, lastUsedIsOld };
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
  const rows = await sql<GrantRow[]>`
    SELECT * FROM oauth_grants
    WHERE org_id = ${orgId} AND expires_at > now() AND ${actor === null ? sql`true` : sql`actor = ${actor}`}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
  return rows.map(toGrant);
}

/** Select a grant that has not ended. */
export async function selectGrant(sql: Sql, orgId: string, id: string): Promise<Grant | null> {
  const [row] = await sql<GrantRow[]>`
    SELECT * FROM oauth_grants WHERE org_id = ${orgId} AND id = ${id} AND expires_at > now()`;
  return row ? toGrant(row) : null;
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
