import { createHash, randomUUID } from 'node:crypto';
import { AppError, invalidRequest } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { seal, unseal } from '../platform/seal.ts';
import { isSameHash } from './api-key-format.ts';
import {
  claimIdempotencyKey,
  deleteExpiredIdempotencyKeys,
  deleteIdempotencyLock,
  extendIdempotencyLock,
  type HeldKey,
  type IdempotencyRow,
  selectIdempotencyRow,
  updateIdempotencyResponse,
} from './idempotency-store.ts';

const KEEP_MS = 24 * 3_600_000;
const KEY_CHARS_MAX = 255;
const CLAIM_TRIES_MAX = 5;

/** Lock of one attempt on a key. An attempt that takes over from a dead one has a new `attempt`. */
export type IdempotencyLock = HeldKey;

export type IdempotentStart =
  | { readonly state: 'new'; readonly lock: IdempotencyLock }
  | { readonly state: 'replay'; readonly status: number; readonly body: unknown };

/**
 * Compute the SHA-256 that identifies a request from its operation id, path parameters and body, in this order. Prefix
 * each part with its length, so that moving a boundary changes the fingerprint.
 */
export function fingerprintRequest(...parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest();
}

/**
 * Begin a request with an `Idempotency-Key`. Call this outside any transaction, so that a second request sees the
 * first. Then end it with `finishIdempotent` or `abandonIdempotent`. The response of the first request is kept for 24
 * h.
 *
 * @param request.lockMs time after which the first request counts as dead and may be repeated, unless
 *   `extendIdempotent` extends the lock
 * @param request.encryptionKey key for responses that contain a secret
 * @throws AppError `idempotency_key_invalid` (400), `idempotency_in_progress` (409, retryable),
 *   `idempotency_key_reused` (422: the key was used with another request)
 */
export async function beginIdempotent(
  sql: Sql,
  request: { orgId: string; key: string; fingerprint: Buffer; lockMs: number; encryptionKey: Buffer },
): Promise<IdempotentStart> {
  const { orgId, key, fingerprint, lockMs } = request;
  const lock = { orgId, key, attempt: randomUUID() };
  if (key.length === 0 || key.length > KEY_CHARS_MAX || key.includes('\0')) {
    throw invalidRequest(`Idempotency-Key must have 1 to ${KEY_CHARS_MAX} characters`, null, 'idempotency_key_invalid');
  }
  // If the row is deleted between the failed claim and the select, claim again.
  for (let tries = 0; tries < CLAIM_TRIES_MAX; tries++) {
    if (await claimIdempotencyKey(sql, { ...lock, fingerprint, lockMs, keepMs: KEEP_MS }))
      return { state: 'new', lock };
    const row = await selectIdempotencyRow(sql, orgId, key);
    if (row === null) continue;
    if (!isSameHash(row.fingerprint, fingerprint)) {
      throw new AppError({
        code: 'idempotency_key_reused',
        status: 422,
        message: 'this Idempotency-Key was used with another request; use a new key',
      });
    }
    if (row.status !== null) {
      const bodyJson = bodyOf(row, request);
      return { state: 'replay', status: row.status, body: JSON.parse(bodyJson ?? 'null') };
    }
    break;
  }
  throw new AppError({
    code: 'idempotency_in_progress',
    status: 409,
    message: 'a request with this Idempotency-Key is still in progress; try again shortly',
    retryable: true,
    retryAfterSeconds: 1,
  });
}

function bodyOf(row: IdempotencyRow, request: { orgId: string; key: string; encryptionKey: Buffer }): string | null {
  if (row.sealedBody === null) return row.bodyJson;
  return unseal(request.encryptionKey, Buffer.from(row.sealedBody), contextOf(request));
}

/** Build the encryption context of a sealed response. */
export function contextOf({ orgId, key }: { orgId: string; key: string }): string {
  return `idempotency_keys/${orgId}/${key}`;
}

/**
 * Hold the key of an unfinished request for `lockMs` from now. Return false if the request already counted as dead and
 * another one may hold the key.
 */
export async function extendIdempotent(sql: Sql, lock: IdempotencyLock, lockMs: number): Promise<boolean> {
  return extendIdempotencyLock(sql, lock, lockMs);
}

/**
 * End a request with its response. Keep a 2xx or 3xx to return it again. For any other status, free the key, so that
 * the caller can correct the request and reuse it. `sql` may be the transaction of the change.
 *
 * @param response.body any value that JSON can represent
 * @param response.encryptionKey set if the body contains a secret, to store it only encrypted
 */
export async function finishIdempotent(
  sql: Sql,
  lock: IdempotencyLock,
  response: { status: number; body: unknown; encryptionKey?: Buffer | undefined },
): Promise<void> {
  const { status, encryptionKey } = response;
  if (status < 200 || status > 399) return abandonIdempotent(sql, lock);
  const json = JSON.stringify(response.body ?? null);
  const body = encryptionKey === undefined ? json : seal(encryptionKey, json, contextOf(lock));
  await updateIdempotencyResponse(sql, lock, { status, body });
}

/** End a request without keeping a response, and free the key. */
export async function abandonIdempotent(sql: Sql, lock: IdempotencyLock): Promise<void> {
  await deleteIdempotencyLock(sql, lock);
}

/** Delete keys older than 24 h, across all organizations. Return their number; call again while it equals `rowsMax`. */
export async function sweepIdempotencyKeys(sql: Sql, rowsMax = 1000): Promise<number> {
  return deleteExpiredIdempotencyKeys(sql, rowsMax);
}
