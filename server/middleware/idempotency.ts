import { createHash } from 'node:crypto';
import type { Caller } from '../../src/access/caller.ts';
import { fingerprintRequest, type IdempotencyLock, type IdempotentStart } from '../../src/access/idempotency.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/logger.ts';
import type { RouteReply, UploadedFile } from '../route.ts';

/** Where first responses are kept; `src/access/idempotency.ts` bound to a database. */
export interface Idempotency {
  /** @throws AppError 409 while the first request is in progress, 422 for another request under the same key */
  begin(request: { orgId: string; key: string; fingerprint: Buffer }): Promise<IdempotentStart>;
  /** Keeps a 2xx or 3xx; frees the key otherwise. */
  finish(lock: IdempotencyLock, response: { status: number; body: unknown }): Promise<void>;
  abandon(lock: IdempotencyLock): Promise<void>;
}

const KEY_CHARS_MAX = 255;

/** What makes two requests the same one. */
export interface RequestIdentity {
  readonly operationId: string;
  readonly params: unknown;
  readonly query: unknown;
  /** The body as it was sent, before any schema filled in defaults. */
  readonly body: unknown;
  readonly file: UploadedFile | null;
}

/** SHA-256 over the operation, its parameters, and the body with its keys in order. */
function fingerprintOf(identity: RequestIdentity): Buffer {
  const { operationId, params, query, body, file } = identity;
  const rest = file === null ? '' : canonicalJson([file.fileName, file.contentType, file.sha256]);
  return fingerprintRequest(operationId, canonicalJson([params ?? null, query ?? null]), canonicalJson(body), rest);
}

/** The value of the header, null where there is none. Throws AppError 400 for one that cannot be kept. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header !== 'string' || header.length === 0 || header.length > KEY_CHARS_MAX) {
    throw invalidRequest(`Idempotency-Key must have 1 to ${KEY_CHARS_MAX} characters`, null, 'idempotency_key_invalid');
  }
  return header;
}

/** Callers of one organization have keys of their own: a replay shows what the first caller was allowed to see. */
function keyOf(caller: Caller, key: string): string {
  return createHash('sha256').update(`${caller.actor}\n${key}`).digest('base64url');
}

/**
 * Run `work` once for its key; the same request again is answered with the first response and
 * `Idempotency-Replayed: true`. A failed request frees its key.
 */
export async function runIdempotent(
  idempotency: Idempotency,
  request: { caller: Caller; key: string; identity: RequestIdentity; logger: Logger },
  work: () => Promise<RouteReply>,
): Promise<RouteReply> {
  const { caller, key, identity, logger } = request;
  const start = await idempotency.begin({
    orgId: caller.orgId,
    key: keyOf(caller, key),
    fingerprint: fingerprintOf(identity),
  });
  if (start.state === 'replay') {
    return { status: start.status, body: start.body, headers: { 'Idempotency-Replayed': 'true' } };
  }
  let reply: RouteReply;
  try {
    reply = await work();
  } catch (error) {
    await idempotency.abandon(start.lock).catch((fault) => logger.error({ err: fault }, 'idempotency key not freed'));
    throw error;
  }
  try {
    await idempotency.finish(start.lock, { status: reply.status ?? 200, body: reply.body });
  } catch (error) {
    // The work is done: an error now would make the client do it again.
    logger.error({ err: error, operation: identity.operationId }, 'idempotent response not kept');
  }
  return reply;
}

/** JSON with the keys of every object sorted. Depth is bounded by the body reader. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
