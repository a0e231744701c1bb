import { oauthCodeOf } from '../src/access/oauth/oauth-error.ts';
import { SCIM_TYPE, URN } from '../src/access/scim/schema.ts';
import { AppError } from '../src/platform/errors.ts';
import type { ErrorFamily } from './route.ts';

/** Error response that is ready to be written. */
export interface RenderedError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Paths of the embedding family, for responses without a route (contract 7). */
const EMBEDDING_PATH =
  /^\/v1\/(?:embeddings|embed|files|batches|routing|usage|models|chat|completions|responses)(?:\/|\?|$)/;

/** Paths in OpenAI's shape, whose errors have both shapes. */
const VECTOR_STORE_PATH = /^\/v1\/vector_stores(?:\/|\?|$)/;

export function familyOfPath(path: string): ErrorFamily {
  if (VECTOR_STORE_PATH.test(path)) return 'both';
  if (path.startsWith('/scim/')) return 'scim';
  return EMBEDDING_PATH.test(path) ? 'embedding' : 'detail';
}

const TYPE_BY_STATUS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  429: 'rate_limit_error',
};

/** Return `error.type` in the form that OpenAI clients expect. */
function typeOf(status: number): string {
  return TYPE_BY_STATUS[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** Error codes of Dify's external knowledge API: wrong key, and unknown knowledge base. */
const KNOWLEDGE_CODES: Readonly<Record<number, number>> = { 401: 1002, 403: 1002, 404: 2001 };

/** Codes that SCIM defines (RFC 7644, section 3.12). */
const SCIM_TYPES: ReadonlySet<string> = new Set(['invalidFilter', 'invalidPath', 'invalidValue', 'uniqueness']);

const RETRY_AFTER_DEFAULT_SECONDS = 1;

/** Render an error for HTTP. No other code does so. A 5xx omits `details`, which may name internals. */
export function renderError(error: AppError, family: ErrorFamily, requestId: string): RenderedError {
  const { status } = error;
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE };
  if (status === 401) headers['WWW-Authenticate'] = family === 'oauth' ? 'Basic' : 'Bearer';
  const needsRetryAfter = status === 429 || status === 503;
  const retryAfterSeconds = error.retryAfterSeconds ?? (needsRetryAfter ? RETRY_AFTER_DEFAULT_SECONDS : undefined);
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(Math.ceil(retryAfterSeconds));
  if (family === 'oauth') {
    const body = { error: oauthCodeOf(error), error_description: error.message };
    return { status, headers, body: JSON.stringify(body) };
  }
  if (family === 'knowledge') {
    const body = { error_code: KNOWLEDGE_CODES[status] ?? status, error_msg: error.message };
    return { status, headers, body: JSON.stringify(body) };
  }
  if (family === 'scim') {
    const scimType = SCIM_TYPES.has(error.code) ? { scimType: error.code } : {};
    const body = { schemas: [URN.error], status: String(status), ...scimType, detail: error.message };
    return { status, headers: { ...headers, 'Content-Type': SCIM_TYPE }, body: JSON.stringify(body) };
  }
  if (family === 'detail') return { status, headers, body: JSON.stringify({ detail: error.message }) };
  const details = status < 500 ? error.details : undefined;
  const body = {
    ...(family === 'both' ? { detail: error.message } : {}),
    error: { message: error.message, type: typeOf(status), param: error.param, code: error.code, details },
    request_id: requestId,
  };
  return { status, headers, body: JSON.stringify(body) };
}

/** Create an error 413 that names the limit. */
export function bodyTooLarge(limitBytes: number, advice?: string): AppError {
  const message = `the body is larger than the limit of ${limitBytes} bytes${advice ? `; ${advice}` : ''}`;
  return new AppError({ code: 'body_too_large', status: 413, message });
}

/** Create an error 408 for a client that stopped sending or sends too slowly. */
export function requestTimeout(message: string): AppError {
  return new AppError({ code: 'request_timeout', status: 408, message });
}

/**
 * Create the error for a client that disconnected before its request was complete. It is never sent; metrics count it
 * as 499.
 */
export function clientGone(cause?: unknown): AppError {
  return new AppError({ code: 'client_gone', status: 499, message: 'the client closed the connection', cause });
}
