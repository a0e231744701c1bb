import { webcrypto } from 'node:crypto';
import { fingerprintRequest } from '../../src/access/idempotency.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import type { RequestMiddleware, RequestState } from '../request-state.ts';
import type { Route } from '../route.ts';

const KEY_CHARS_MAX = 255;

/**
 * Read the `Idempotency-Key` of a request and compute the fingerprint of the request as sent: before a schema fills in
 * defaults, and before a parser consumes the bytes. Throws AppError 400 for a key with an invalid length.
 */
export function readIdempotencyKey(route: Route): RequestMiddleware {
  return async (ctx, next) => {
    const key = keyOf(ctx.req.headers['idempotency-key']);
    if (key !== null) ctx.state.idempotent = { key, fingerprint: await fingerprintOf(route, ctx.state) };
    await next();
  };
}

function keyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header !== 'string' || header.length === 0 || header.length > KEY_CHARS_MAX) {
    throw invalidRequest(`Idempotency-Key must have 1 to ${KEY_CHARS_MAX} characters`, null, 'idempotency_key_invalid');
  }
  return header;
}

/** Compute the SHA-256 of the operation, its parameters, the body with sorted keys, and the file. */
async function fingerprintOf(route: Route, { params, query, body, file }: RequestState): Promise<Buffer> {
  const sent = Buffer.isBuffer(body) ? await digestOf(body) : body;
  const upload = file === null ? '' : canonicalJson([file.fileName, file.contentType, file.sha256]);
  const parameters = canonicalJson([params ?? null, query ?? null]);
  return fingerprintRequest(route.operationId, parameters, canonicalJson(sent), upload);
}

/** Hash off the event loop, because unparsed bodies are large. */
async function digestOf(bytes: Buffer): Promise<{ sha256: string }> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  return { sha256: Buffer.from(digest).toString('hex') };
}

/** Render JSON with the keys of every object sorted. The body reader limits the depth. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
