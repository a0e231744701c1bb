import { AppError, tryLater, unusable } from '../errors.ts';
import { NETWORK_REASONS } from '../network-reasons.ts';
import { storageFull } from './objects.ts';

const FULL = new Set(['QuotaExceeded', 'XMinioStorageFull', 'InsufficientStorage', 'InsufficientCapacity']);
/** Codes of temporary refusals: credentials are being renewed, or clocks synchronised. */
const TRANSIENT = new Set(['ExpiredToken', 'ExpiredTokenException', 'RequestTimeTooSkewed', 'RequestTimeout']);
const CONFLICT = new Set(['ConditionalRequestConflict', 'OperationAborted']);

/** Return the HTTP status of the store's response; undefined without a response. */
export function statusOf(error: unknown): number | undefined {
  const { httpStatusCode } = (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata ?? {};
  return httpStatusCode;
}

/** Return true if the object or upload does not exist. */
export function isMissing(error: unknown): boolean {
  return nameOf(error) !== 'NoSuchBucket' && statusOf(error) === 404;
}

/** Return true if a conditional write failed because the object exists. */
export function isPreconditionFailed(error: unknown): boolean {
  return statusOf(error) === 412;
}

/** Return true if another write of the key was in progress, so the write must be retried. */
export function isConflict(error: unknown): boolean {
  return statusOf(error) === 409 && CONFLICT.has(nameOf(error));
}

/** Return true if the store doesn't support the operation, at least in this form. */
export function isNotImplemented(error: unknown): boolean {
  const status = statusOf(error);
  return status === 501 || status === 405 || (status === 400 && nameOf(error) !== 'NoSuchBucket');
}

/** Return true if the requested range starts after the end of the object. */
export function isRangeNotSatisfiable(error: unknown): boolean {
  return statusOf(error) === 416;
}

/**
 * Translate an error of the store or the network into an error of `Objects`. Keep only the status and code of a
 * response, since its text may echo the request.
 */
export function translate(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const name = nameOf(error);
  const status = statusOf(error);
  if (name === 'CredentialsProviderError') return refused('there are no credentials', error);
  if (status === undefined) {
    const isOfNetwork =
      typeof Object(error).code === 'string' || name === 'TimeoutError' || '$metadata' in Object(error);
    return isOfNetwork ? unavailable(codeOf(error), error) : error;
  }
  const why = `${status} ${name}`;
  if (FULL.has(name) || status === 507) return storageFull(new Error(why));
  const isTransient = status === 429 || status === 408 || TRANSIENT.has(name) || CONFLICT.has(name);
  if (status < 300 || status >= 500 || isTransient) return unavailable(why);
  return refused(why);
}

function unavailable(why: string, cause?: unknown): AppError {
  return tryLater(`the object storage cannot be used right now (${why}); try again`, 'objects_unavailable', {
    retryAfterSeconds: 2,
    details: { dependency: 'objects', why },
    cause,
  });
}

function refused(why: string, cause?: unknown): AppError {
  return unusable(
    `the object storage refuses our requests (${why}); check the settings of bucket, region and credentials`,
    'objects_refused',
    { details: { dependency: 'objects', why }, cause },
  );
}

/** Explanations of a store's refusals by response code, with the setting to check. */
const REASONS: Readonly<Record<string, string>> = {
  ...NETWORK_REASONS,
  InvalidAccessKeyId: 'it does not know the access key (AWS_ACCESS_KEY_ID)',
  SignatureDoesNotMatch: 'the secret of the access key is wrong (AWS_SECRET_ACCESS_KEY)',
  AccessDenied: 'the access key has no right to this bucket',
  NoSuchBucket: 'there is no such bucket (S3_BUCKET)',
  PermanentRedirect: 'the bucket is in another region (S3_REGION)',
  AuthorizationHeaderMalformed: 'the bucket is in another region (S3_REGION)',
};

/**
 * Add the bucket, its address, the settings and the cause to an error from the first use of a store. Return any other
 * error unchanged.
 */
export function explainS3Failure(error: unknown, { bucket, endpoint }: { bucket: string; endpoint: string }): unknown {
  if (!(error instanceof AppError) || !/^objects_(unavailable|refused)$/.test(error.code)) return error;
  const why = error.details?.['why'];
  if (typeof why !== 'string') return error;
  const reason = REASONS[why.split(' ').at(-1) as string];
  const { code, status, retryable, cause } = error;
  return new AppError({
    code,
    status,
    retryable,
    cause,
    message: `the bucket ${bucket} at ${endpoint} (S3_BUCKET, S3_ENDPOINT) cannot be used: ${reason ?? 'see the cause'} (${why})`,
    ...(error.details === undefined ? {} : { details: { ...error.details } }),
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  });
}

/**
 * Return the name of an error if it is safe to show. A store may send anything, and secret keys of AWS have 40
 * characters.
 */
function nameOf(error: unknown): string {
  const name = (error as { name?: unknown } | null)?.name;
  return typeof name === 'string' && /^[A-Za-z0-9.]{1,39}$/.test(name) ? name : 'unknown';
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[A-Z_]{1,64}$/.test(code) ? code : nameOf(error);
}
