/**
 * Error that may be shown to a user. Every other error is our bug: it is logged in full and shown as "internal error".
 *
 * Recognise an AppError by `code`, never by its message.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  /** Stable snake_case identifier, for example `bucket_not_found`. */
  readonly code: string;
  readonly status: number;
  /** Path of the request field at fault (`input[3]`, `dimensions`), or null. */
  readonly param: string | null;
  /** Additional machine-readable facts for the response body. They are safe to show. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** True if the same call may succeed later without any change by the caller. */
  readonly retryable: boolean;
  /** Seconds for the `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined;

  constructor(options: {
    code: string;
    status: number;
    message: string;
    param?: string | null;
    details?: Record<string, unknown>;
    retryable?: boolean;
    retryAfterSeconds?: number;
    cause?: unknown;
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.status = options.status;
    this.param = options.param ?? null;
    this.details = options.details;
    this.retryable = options.retryable ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Create an error 400: the request can never succeed. `message` says how to fix it. */
export function invalidRequest(message: string, param: string | null = null, code = 'invalid_request'): AppError {
  return new AppError({ code, status: 400, message, param });
}

/**
 * Create an error 404. It is the same for a missing thing and for one that belongs to another organization. `what` is a
 * noun: "bucket".
 */
export function notFound(what: string, id: string): AppError {
  return new AppError({
    code: `${what.replaceAll(' ', '_')}_not_found`,
    status: 404,
    message: `${what} not found: ${id}`,
  });
}

/** Create an error 403: the caller is known but may not do this. */
export function forbidden(message: string, code = 'forbidden'): AppError {
  return new AppError({ code, status: 403, message });
}

/** Create an error 409: the state of the resource doesn't allow the operation. */
export function conflict(message: string, code = 'conflict'): AppError {
  return new AppError({ code, status: 409, message });
}

/** Create the error for settings that are not valid, with a line for each fault. */
export function invalidSettings(faults: readonly string[], cause?: unknown): AppError {
  const message = `settings are not valid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`;
  return new AppError({ code: 'config_invalid', status: 500, message, cause });
}

/** Create an error 503 that passes by itself: the caller may try again. */
export function tryLater(
  message: string,
  code: string,
  options: { retryAfterSeconds?: number; details?: Record<string, unknown>; cause?: unknown } = {},
): AppError {
  return new AppError({ code, status: 503, message, retryable: true, ...options });
}

/** Create an error 503 that lasts until somebody changes the settings or the host. */
export function unusable(
  message: string,
  code: string,
  options: { details?: Record<string, unknown>; cause?: unknown } = {},
): AppError {
  return new AppError({ code, status: 503, message, ...options });
}

/** Create an error 503: the organization is moving to another installation, and its data must not change meanwhile. */
export function organizationMoving(cause?: unknown): AppError {
  return tryLater(
    'the organization is being moved to another installation, so changes are refused; searches and reads still work; send the request again later',
    'organization_moving',
    { retryAfterSeconds: 10, cause },
  );
}

/** Create an error 503: a dependency (`postgres`, `objects`, …) is down or unreachable. The caller may try again. */
export function dependencyDown(dependency: string, message: string, cause?: unknown): AppError {
  return tryLater(message, `${dependency}_unavailable`, { retryAfterSeconds: 2, cause, details: { dependency } });
}
