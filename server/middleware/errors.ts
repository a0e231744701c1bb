import { AppError } from '../../src/platform/errors.ts';
import { mapPostgresError } from '../../src/platform/postgres.ts';
import type { Exchange } from '../exchange.ts';
import type { ErrorFamily } from '../route.ts';

/** An answer ready to be written. */
export interface RenderedError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Paths of the embedding family, for answers that no route gave (contract 7; design of the error bodies). */
const EMBEDDING_PATH = /^\/v1\/(?:embeddings|embed|routing|usage|models)(?:\/|\?|$)/;

export function familyOfPath(path: string): ErrorFamily {
  return EMBEDDING_PATH.test(path) ? 'embedding' : 'detail';
}

const TYPE_BY_STATUS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  429: 'rate_limit_error',
};

/** `error.type` as OpenAI clients know it. */
function typeOf(status: number): string {
  return TYPE_BY_STATUS[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

const RETRY_AFTER_DEFAULT_SECONDS = 1;

/** The one rendering of an error over HTTP. A 5xx shows its message only: `details` may name our internals. */
export function renderError(error: AppError, family: ErrorFamily, requestId: string): RenderedError {
  const { status } = error;
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE };
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer';
  const mustSayWhen = status === 429 || status === 503;
  const retryAfterSeconds = error.retryAfterSeconds ?? (mustSayWhen ? RETRY_AFTER_DEFAULT_SECONDS : undefined);
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(Math.ceil(retryAfterSeconds));
  if (family === 'detail') return { status, headers, body: JSON.stringify({ detail: error.message }) };
  const details = status < 500 ? error.details : undefined;
  const body = {
    error: { message: error.message, type: typeOf(status), param: error.param, code: error.code, details },
    request_id: requestId,
  };
  return { status, headers, body: JSON.stringify(body) };
}

/**
 * What an error that left a handler is to the client. An unknown one is a fault of ours, of which nobody is shown
 * more than the id under which it is in the log; but while a client has left, or the drain's deadline has passed,
 * errors are what an aborted handler throws.
 */
export function appErrorOf(thrown: unknown, exchange: Exchange): AppError {
  if (exchange.clientIsGone) return clientGone(thrown);
  const known = mapPostgresError(thrown);
  if (known instanceof AppError) return known;
  if (exchange.isDrained) return shuttingDown(thrown);
  return new AppError({
    code: 'internal_error',
    status: 500,
    message: `internal error; quote request id ${exchange.requestId}`,
    cause: thrown,
  });
}

/** 404 for a path that no route has. */
export function unknownRoute(method: string, path: string): AppError {
  return new AppError({ code: 'unknown_route', status: 404, message: `no such route: ${method} ${cut(path)}` });
}

/** 405; the caller adds `Allow`. */
export function methodNotAllowed(method: string, allowed: readonly string[]): AppError {
  return new AppError({
    code: 'method_not_allowed',
    status: 405,
    message: `method ${method} is not allowed here; use ${allowed.join(' or ')}`,
  });
}

/** 413 naming the bound. */
export function bodyTooLarge(limitBytes: number, advice?: string): AppError {
  const message = `the body is larger than the limit of ${limitBytes} bytes${advice ? `; ${advice}` : ''}`;
  return new AppError({ code: 'body_too_large', status: 413, message });
}

/** 408: the client stopped sending, or sends too slowly. */
export function requestTimeout(message: string): AppError {
  return new AppError({ code: 'request_timeout', status: 408, message });
}

/** The client went away before its request was complete: nobody reads this answer (499 in the metrics). */
export function clientGone(cause?: unknown): AppError {
  return new AppError({ code: 'client_gone', status: 499, message: 'the client closed the connection', cause });
}

/** 503: this process is stopping and gave up what was under way. */
function shuttingDown(cause?: unknown): AppError {
  return new AppError({
    code: 'shutting_down',
    status: 503,
    message: 'the service is shutting down; try again',
    retryable: true,
    retryAfterSeconds: 1,
    cause,
  });
}

const PATH_SHOWN_CHARS = 200;

function cut(path: string): string {
  return path.length > PATH_SHOWN_CHARS ? `${path.slice(0, PATH_SHOWN_CHARS)}…` : path;
}
