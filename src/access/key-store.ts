import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Caller, Scope } from './caller.ts';
import type { KeyLimits } from './key-limits.ts';
import { type ApiKey, LIST_ROWS_MAX } from './schema.ts';

function columns(sql: Sql) {
  return sql`id, org_id, user_id, name, scopes, auth_level, limits, expires_at, last_used_at, revoked_at, created_at`;
}

const toApiKey = withIsoTimes<ApiKey>;

/**
 * Insert a key, or return null if the id is taken. `lifetimeMs` counts from now by the database clock; null for
 * unlimited. If a key without a user creates it, it inherits that key's creator.
 */
export async function insertApiKey(
  sql: Sql,
  key: {
    id: string;
    orgId: string;
    userId: string | null;
    name: string;
    hash: Buffer;
    scopes: readonly Scope[];
    authLevel: number;
    limits: KeyLimits | null;
    lifetimeMs: number | null;
    by: Pick<Caller, 'actor' | 'userId'>;
  },
): Promise<ApiKey | null> {
  const [row] = await sql`
    INSERT INTO api_keys (id, org_id, user_id, name, hash, scopes, auth_level, limits, creator_id, expires_at)
    VALUES (${key.id}, ${key.orgId}, ${key.userId}, ${key.name}, ${key.hash}, ${[...key.scopes]}, ${key.authLevel},
            ${key.limits === null ? null : sql.json(key.limits)}, coalesce(${key.by.userId}, (SELECT creator_id FROM api_keys
              WHERE org_id = ${key.orgId} AND 'key:' || id = ${key.by.actor})),
            now() + ${key.lifetimeMs}::double precision * interval '1 millisecond')
    ON CONFLICT (id) DO NOTHING
    RETURNING ${columns(sql)}`;
  return row ? toApiKey(row) : null;
}

/** Select keys, newest first. @param page.after id of the key that precedes the page */
export async function selectApiKeys(
  sql: Sql,
  orgId: string,
  { limit, after }: { limit: number; after?: string | undefined } = { limit: LIST_ROWS_MAX },
): Promise<ApiKey[]> {
  const rows = await sql`
    SELECT ${columns(sql)} FROM api_keys
    WHERE org_id = ${orgId}
      ${after === undefined ? sql`` : sql`AND (created_at, id) < (SELECT k.created_at, k.id FROM api_keys k WHERE k.org_id = ${orgId} AND k.id = ${after})`}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
  return rows.map(toApiKey);
}

export async function selectApiKey(sql: Sql, orgId: string, id: string): Promise<ApiKey | null> {
  const [row] = await sql`SELECT ${columns(sql)} FROM api_keys WHERE org_id = ${orgId} AND id = ${id}`;
  return row ? toApiKey(row) : null;
}

/** Select the key with this id, or the unrevoked keys with this name. */
export async function selectKeysNamed(sql: Sql, orgId: string, idOrName: string): Promise<ApiKey[]> {
  const rows = await sql`
    SELECT ${columns(sql)} FROM api_keys
    WHERE org_id = ${orgId} AND (id = ${idOrName}
      OR (name = ${idOrName.normalize('NFC')} AND (revoked_at IS NULL OR revoked_at > now())))
    ORDER BY id = ${idOrName} DESC, created_at DESC, id DESC`;
  return rows.map(toApiKey);
}

/**
 * Change a key; call this on a locked row.
 *
 * @param changes.lifetimeMs counts from now; null for unlimited; undefined to keep the expiry
 */
export async function updateApiKey(
  sql: Sql,
  key: ApiKey,
  changes: Pick<ApiKey, 'name' | 'scopes' | 'limits'> & { authLevel: number; lifetimeMs: number | null | undefined },
): Promise<ApiKey> {
  const { name, scopes, authLevel, limits, lifetimeMs } = changes;
  const [row] = await sql<[object]>`
    UPDATE api_keys SET name = ${name}, scopes = ${[...scopes]}, auth_level = ${authLevel},
      limits = ${limits === null ? null : sql.json(limits)}
      ${lifetimeMs === undefined ? sql`` : sql`, expires_at = now() + ${lifetimeMs}::double precision * interval '1 millisecond'`}
    WHERE org_id = ${key.org_id} AND id = ${key.id}
    RETURNING ${columns(sql)}`;
  return toApiKey(row);
}

/** Select a key and lock its row until the transaction ends. */
export async function lockApiKey(sql: Sql, orgId: string, id: string): Promise<ApiKey | null> {
  const [row] = await sql`
    SELECT ${columns(sql)} FROM api_keys WHERE org_id = ${orgId} AND id = ${id} FOR UPDATE`;
  return row ? toApiKey(row) : null;
}

/** Revoke a key `afterMs` from now. Return false if it doesn't exist or is already revoked by then. */
export async function updateRevocation(sql: Sql, orgId: string, id: string, afterMs: number): Promise<boolean> {
  const result = await sql`
    UPDATE api_keys SET revoked_at = now() + ${afterMs}::double precision * interval '1 millisecond'
    WHERE org_id = ${orgId} AND id = ${id}
      AND (revoked_at IS NULL OR revoked_at > now() + ${afterMs}::double precision * interval '1 millisecond')`;
  return result.count > 0;
}

/** Delete an organization's oldest revoked and expired keys beyond `keysMax`. */
export async function deleteOldEndedKeys(sql: Sql, orgId: string, keysMax: number): Promise<void> {
  await sql`
    DELETE FROM api_keys WHERE org_id = ${orgId} AND id IN (
      SELECT id FROM api_keys WHERE org_id = ${orgId} AND (revoked_at <= now() OR expires_at <= now())
      ORDER BY created_at DESC, id DESC OFFSET ${keysMax} FOR UPDATE SKIP LOCKED)`;
}

/** Record the use of a key, at most once a minute. */
export async function updateLastUsed(sql: Sql, orgId: string, id: string): Promise<void> {
  await sql`
    UPDATE api_keys SET last_used_at = now()
    WHERE org_id = ${orgId} AND id = ${id}
      AND (last_used_at IS NULL OR last_used_at <= now() - interval '1 minute')`;
}

export async function selectApiKeyName(sql: Sql, orgId: string, id: string): Promise<string | null> {
  const [row] = await sql`SELECT name FROM api_keys WHERE org_id = ${orgId} AND id = ${id}`;
  return (row?.['name'] as string | undefined) ?? null;
}

/** Read the prefix of the public ids of new keys; null for none. */
export async function selectKeyPrefix(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ prefix: string | null }[]>`SELECT key_prefix AS prefix FROM installation`;
  return row?.prefix ?? null;
}

export async function updateKeyPrefix(sql: Sql, prefix: string | null): Promise<void> {
  await sql`UPDATE installation SET key_prefix = ${prefix}`;
}
