import type { Sql } from '../platform/postgres.ts';
import type { User } from './schema.ts';

/** Increment the generation of a user's tokens, which invalidates all existing tokens. Call this on a locked row. */
export async function revokeTokensOf(sql: Sql, user: User): Promise<void> {
  await sql`
    UPDATE users SET token_generation = token_generation + 1, tokens_revoked_at = now()
    WHERE org_id = ${user.org_id} AND id = ${user.id}`;
}

/** Return the current generation of a user's tokens, or null if the user does not exist. */
export async function selectTokenGeneration(sql: Sql, orgId: string, userId: string): Promise<number | null> {
  const [row] = await sql`SELECT token_generation FROM users WHERE org_id = ${orgId} AND id = ${userId}`;
  return row === undefined ? null : (row['token_generation'] as number);
}

/** Record a revoked token, and delete expired records. Return false if it was already revoked. */
export async function insertRevokedToken(
  sql: Sql,
  token: { id: string; orgId: string; expiresAtMs: number },
): Promise<boolean> {
  await sql`DELETE FROM revoked_tokens WHERE org_id = ${token.orgId} AND expires_at < now()`;
  const inserted = await sql`
    INSERT INTO revoked_tokens (id, org_id, expires_at)
    VALUES (${token.id}, ${token.orgId}, ${new Date(token.expiresAtMs)}) ON CONFLICT DO NOTHING RETURNING id`;
  return inserted.length > 0;
}
