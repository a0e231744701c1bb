import { AppError, dependencyDown } from '../errors.ts';
import { storageFull } from './objects.ts';

const FULL = new Set(['QuotaExceeded', 'XMinioStorageFull', 'InsufficientStorage', 'InsufficientCapacity']);
/** Refusals that pass: new credentials are on their way, or the clocks are brought together. */
const PASSING = new Set(['ExpiredToken', 'ExpiredTokenException', 'RequestTimeTooSkewed', 'RequestTimeout']);
const CONFLICT = new Set(['ConditionalRequestConflict', 'OperationAborted']);

/** The HTTP status of an answer of the store; undefined where there was none. */
export function statusOf(error: unknown): number | undefined {
  const { httpStatusCode } = (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata ?? {};
  return httpStatusCode;
}

/** There is no such object, or no such upload. */
export function isMissing(error: unknown): boolean {
  return nameOf(error) !== 'NoSuchBucket' && statusOf(error) === 404;
}

/** The condition of a write did not hold: there is an object. */
export function isPreconditionFailed(error: unknown): boolean {
  return statusOf(error) === 412;
}

/** Another write of the same key was under way; the same write is to be tried again. */
export function isConflict(error: unknown): boolean {
  return statusOf(error) === 409 && CONFLICT.has(nameOf(error));
}

/** The store does not know this operation, or not in this form. */
export function isNotImplemented(error: unknown): boolean {
  const status = statusOf(error);
  return status === 501 || status === 405 || (status === 400 && nameOf(error) !== 'NoSuchBucket');
}

/** A range that begins behind the end. */
export function isBehindEnd(error: unknown): boolean {
  return statusOf(error) === 416;
}

/**
 * What the store or the way to it says, in the terms of `Objects`. Of an answer only status and code are kept: its text
 * may repeat what was sent.
 */
export function translate(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const name = nameOf(error);
  const status = statusOf(error);
  if (name === 'CredentialsProviderError') return refused('there are no credentials for it', error);
  if (status === undefined) {
    const isOfNetwork =
      typeof Object(error).code === 'string' || name === 'TimeoutError' || '$metadata' in Object(error);
    return isOfNetwork ? unavailable(codeOf(error), error) : error;
  }
  const why = `${status} ${name}`;
  if (FULL.has(name) || status === 507) return storageFull(new Error(why));
  const isPassing = status === 429 || status === 408 || PASSING.has(name) || CONFLICT.has(name);
  if (status < 300 || status >= 500 || isPassing) return unavailable(why);
  return refused(why);
}

function unavailable(why: string, cause?: unknown): AppError {
  return dependencyDown('objects', `the object storage cannot be used right now (${why})`, cause);
}

function refused(why: string, cause?: unknown): AppError {
  return new AppError({
    code: 'objects_refused',
    status: 503,
    message: `the object storage refuses us (${why}); bucket, region and credentials are for its operator to check`,
    cause,
  });
}

/** A store may say anything; secret keys of AWS have 40 characters. */
function nameOf(error: unknown): string {
  const name = (error as { name?: unknown } | null)?.name;
  return typeof name === 'string' && /^[A-Za-z0-9.]{1,39}$/.test(name) ? name : 'unknown';
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[A-Z_]{1,64}$/.test(code) ? code : nameOf(error);
}
