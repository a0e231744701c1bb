import type { Sql, SqlFragment } from '../platform/postgres.ts';

export interface IdempotencyRow {
  readonly fingerprint: Uint8Array;
  /** Status of the response, or null while the first request is in progress. */
  readonly status: number | null;
  /** JSON text of the response; null while the first request is in progress, or if the response is sealed. */
  readonly bodyJson: string | null;
  /** Encrypted JSON text of a response with a secret; null for others. */
  readonly sealedBody: Uint8Array | null;
}

/** Attempt that holds a key. */
export interface HeldKey {
  readonly orgId: string;
  readonly key: string;
  readonly attempt: string;
}

/**
 * Claim the key for an attempt. This succeeds if there is no row, if the row has expired, or if it belongs to an
 * identical request that died. Return false if the claim fails.
 */
export async function claimIdempotencyKey(
  sql: Sql,
  claim: HeldKey & { readonly fingerprint: Uint8Array; readonly lockMs: number; readonly keepMs: number },
): Promise<boolean> {
  const result = await sql`
    INSERT INTO idempotency_keys AS held (org_id, key, fingerprint, attempt, locked_until, expires_at)
    VALUES (${claim.orgId}, ${claim.key}, ${claim.fingerprint}, ${claim.attempt},
            clock_timestamp() + ${claim.lockMs}::double precision * interval '1 millisecond',
            now() + ${claim.keepMs}::double precision * interval '1 millisecond')
    ON CONFLICT (org_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, response_status = NULL, response_body = NULL, sealed_body = NULL,
        attempt = excluded.attempt, locked_until = excluded.locked_until, expires_at = excluded.expires_at
    WHERE held.expires_at <= now()
       OR (held.response_status IS NULL AND held.locked_until <= now() AND held.fingerprint = excluded.fingerprint)`;
  return result.count === 1;
}

export async function selectIdempotencyRow(sql: Sql, orgId: string, key: string): Promise<IdempotencyRow | null> {
  const [row] = await sql<IdempotencyRow[]>`
    SELECT fingerprint, response_status AS status, response_body #>> '{}' AS "bodyJson", sealed_body AS "sealedBody"
    FROM idempotency_keys
    WHERE org_id = ${orgId} AND key = ${key} AND expires_at > now()`;
  return row ?? null;
}

/**
 * Store the response of the attempt that holds the key. An attempt that lost it changes nothing. Store the body as JSON
 * text inside a JSON string, because jsonb would reorder its keys and refuses U+0000.
 */
export async function updateIdempotencyResponse(
  sql: Sql,
  held: HeldKey,
  response: { status: number; body: string | Uint8Array },
): Promise<void> {
  const { status, body } = response;
  const column = typeof body === 'string' ? sql`response_body = to_jsonb(${body}::text)` : sql`sealed_body = ${body}`;
  await sql`UPDATE idempotency_keys SET response_status = ${status}, ${column} WHERE ${isHeld(sql, held)}`;
}

/** Extend the lock to `lockMs` from now. Return false if the attempt no longer holds the key. */
export async function extendIdempotencyLock(sql: Sql, held: HeldKey, lockMs: number): Promise<boolean> {
  const result = await sql`
    UPDATE idempotency_keys
    SET locked_until = clock_timestamp() + ${lockMs}::double precision * interval '1 millisecond'
    WHERE ${isHeld(sql, held)}`;
  return result.count === 1;
}

/** Delete the attempt that holds the key, and so free the key. */
export async function deleteIdempotencyLock(sql: Sql, held: HeldKey): Promise<void> {
  await sql`DELETE FROM idempotency_keys WHERE ${isHeld(sql, held)}`;
}

function isHeld(sql: Sql, { orgId, key, attempt }: HeldKey): SqlFragment {
  return sql`org_id = ${orgId} AND key = ${key} AND response_status IS NULL AND attempt = ${attempt}`;
}

/** Delete expired keys of all organizations. Return the number of deleted rows, at most `rowsMax`. */
export async function deleteExpiredIdempotencyKeys(sql: Sql, rowsMax: number): Promise<number> {
  const result = await sql`
    DELETE FROM idempotency_keys WHERE (org_id, key) IN (
      SELECT org_id, key FROM idempotency_keys WHERE expires_at <= now() ORDER BY expires_at LIMIT ${rowsMax}
      FOR UPDATE SKIP LOCKED)`;
  return result.count;
}

/**
 * Replace stored responses that name one of these documents by 410, so that they contain nothing about it but a
 * repeated request still doesn't run again.
 * @param ids document ids, or the file ids under which vector stores list documents
 */
export async function forgetResponsesAbout(sql: Sql, orgId: string, ids: readonly string[]): Promise<void> {
  const body = JSON.stringify({ detail: 'the document of this request was deleted' });
  await sql`
    UPDATE idempotency_keys SET response_status = 410, response_body = to_jsonb(${body}::text)
    WHERE org_id = ${orgId} AND response_status <> 410 AND EXISTS (
      SELECT 1 FROM regexp_matches(response_body #>> '{}', '(?:doc|file)_[0-9a-z_]+', 'g') AS named
      WHERE named[1] = ANY(${sql.array([...ids])}::text[])
        AND (named[1] LIKE 'doc\\_%' OR response_body #>> '{}' LIKE '%"vector_store.file"%'))`;
}
