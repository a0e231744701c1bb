import type { Sql } from '../../platform/postgres.ts';

/** Client authentication methods at the token endpoint (RFC 7591, section 2). */
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** Client that registered itself. */
export interface RegisteredClient {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly authMethod: AuthMethod;
  /** HMAC of the secret; null for a public client. */
  readonly secretHash: Uint8Array | null;
}

/**
 * Insert a client. If more than `unusedMax` clients have no access grant yet, delete the oldest of them, so that
 * registrations by strangers take bounded space.
 */
export async function insertClient(sql: Sql, client: RegisteredClient, unusedMax: number): Promise<void> {
  const { id, name, redirectUris, authMethod, secretHash } = client;
  await sql`
    INSERT INTO oauth_clients (id, name, redirect_uris, auth_method, secret_hash)
    VALUES (${id}, ${name}, ${[...redirectUris]}, ${authMethod}, ${secretHash})`;
  await sql`
    DELETE FROM oauth_clients WHERE NOT is_used AND id IN (
      SELECT id FROM oauth_clients WHERE NOT is_used ORDER BY created_at DESC, id DESC OFFSET ${unusedMax})`;
}

export async function selectClient(sql: Sql, id: string): Promise<RegisteredClient | null> {
  const [client] = await sql<RegisteredClient[]>`
    SELECT id, name, redirect_uris AS "redirectUris", auth_method AS "authMethod", secret_hash AS "secretHash"
    FROM oauth_clients WHERE id = ${id}`;
  return client ?? null;
}

/** Mark a client as used once somebody gives it access, so that it is kept. */
export async function markClientUsed(sql: Sql, id: string): Promise<void> {
  await sql`UPDATE oauth_clients SET is_used = true WHERE id = ${id} AND NOT is_used`;
}

/**
 * Delete clients that nobody gave access to within a day. Keep others for longer than any grant, since applications
 * reuse their id.
 */
export async function deleteUnusedClients(sql: Sql): Promise<void> {
  await sql`
    DELETE FROM oauth_clients c
    WHERE (NOT c.is_used AND c.created_at < now() - interval '1 day')
      OR (c.created_at < now() - interval '400 days'
        AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.id))`;
}
