import type { Sql } from '../platform/postgres.ts';

export interface IdempotencyRow {
  readonly fingerprint: Uint8Array;
  /** Status of the response; null while the first request is in progress. */
  readonly status: number | null;
  /** JSON text of the response; null while the first request is in progress. */
  readonly bodyJson: string | null;
}

/**
 * Claim the key if there is no row, if the row has expired, or if it belongs to an equal request that died. Returns the
 * end of the lock, as text in the full precision of the database, which identifies this attempt; null if not claimed.
 */
export async function claimIdempotencyKey(
  sql: Sql,
  claim: { orgId: string; key: string; fingerprint: Uint8Array; lockMs: number; keepMs: number },
): Promise<string | null> {
  const [row] = await sql<{ locked_until: string }[]>`
    INSERT INTO idempotency_keys AS held (org_id, key, fingerprint, locked_until, expires_at)
    VALUES (${claim.orgId}, ${claim.key}, ${claim.fingerprint},
            clock_timestamp() + ${claim.lockMs}::double precision * interval '1 millisecond',
            now() + ${claim.keepMs}::double precision * interval '1 millisecond')
    ON CONFLICT (org_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, response_status = NULL, response_body = NULL,
        locked_until = excluded.locked_until, expires_at = excluded.expires_at
    WHERE held.expires_at <= now()
       OR (held.response_status IS NULL AND held.locked_until <= now() AND held.fingerprint = excluded.fingerprint)
    RETURNING locked_until::text`;
  return row?.locked_until ?? null;
}

export async function selectIdempotencyRow(sql: Sql, orgId: string, key: string): Promise<IdempotencyRow | null> {
  const [row] = await sql<{ fingerprint: Uint8Array; response_status: number | null; response_body: string | null }[]>`
    SELECT fingerprint, response_status, response_body #>> '{}' AS response_body FROM idempotency_keys
    WHERE org_id = ${orgId} AND key = ${key} AND expires_at > now()`;
  return row ? { fingerprint: row.fingerprint, status: row.response_status, bodyJson: row.response_body } : null;
}

/**
 * Store the response of the attempt that holds the lock; an attempt that lost it changes nothing. The body is stored
 * as JSON text inside a JSON string, since jsonb would reorder its keys and refuses U+0000.
 */
export async function updateIdempotencyResponse(
  sql: Sql,
  held: { orgId: string; key: string; lockedUntil: string },
  response: { status: number; bodyJson: string },
): Promise<void> {
  await sql`
    UPDATE idempotency_keys
    SET response_status = ${response.status}, response_body = to_jsonb(${response.bodyJson}::text)
    WHERE org_id = ${held.orgId} AND key = ${held.key}
      AND response_status IS NULL AND locked_until = ${held.lockedUntil}::text::timestamptz`;
}

/** Delete the attempt that holds the lock, so that the key can be used again. */
export async function deleteIdempotencyLock(
  sql: Sql,
  held: { orgId: string; key: string; lockedUntil: string },
): Promise<void> {
  await sql`
    DELETE FROM idempotency_keys
    WHERE org_id = ${held.orgId} AND key = ${held.key}
      AND response_status IS NULL AND locked_until = ${held.lockedUntil}::text::timestamptz`;
}

/** Delete expired keys of all organizations. Returns the number of deleted rows, at most `rowsMax`. */
export async function deleteExpiredIdempotencyKeys(sql: Sql, rowsMax: number): Promise<number> {
  const result = await sql`
    DELETE FROM idempotency_keys WHERE (org_id, key) IN (
      SELECT org_id, key FROM idempotency_keys WHERE expires_at <= now() ORDER BY expires_at LIMIT ${rowsMax}
      FOR UPDATE SKIP LOCKED)`;
  return result.count;
}

/**
 * Replace stored responses that name one of these documents by 410, so that they no longer contain facts about it, and
 * a repeated request still does not run a second time.
 */
export async function forgetResponsesAbout(sql: Sql, orgId: string, documentIds: readonly string[]): Promise<void> {
  const body = JSON.stringify({ detail: 'the document of this request was deleted' });
  await sql`
    UPDATE idempotency_keys SET response_status = 410, response_body = to_jsonb(${body}::text)
    WHERE org_id = ${orgId} AND response_status <> 410 AND EXISTS (
      SELECT 1 FROM regexp_matches(response_body #>> '{}', 'doc_[0-9a-z_]+', 'g') AS named
      WHERE named[1] = ANY(${sql.array([...documentIds])}::text[]))`;
}
