import { AppError } from '../errors.ts';
import type { UpstreamFault } from './upstream-fault.ts';

/** Name the cause of a fault, for `details.cause` of `provider_unavailable` and for the metrics label. */
export function causeOf(fault: UpstreamFault): string {
  if (fault.kind === 'refused') return 'refused';
  if (fault.status !== null) return `http_${fault.status}`;
  if (fault.code === 'timeout' || fault.code === 'connection') return fault.code;
  return 'invalid_answer';
}

/**
 * Create an error 502: this provider can't serve the call now, but another may. `why` becomes the cause shown to
 * operators.
 */
export function providerUnavailable(
  provider: string,
  cause: string,
  why: string,
  more: { readonly retryAfterMs?: number | null; readonly fault?: UpstreamFault } = {},
): AppError {
  const { retryAfterMs, fault } = more;
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    message: `provider ${provider} is unavailable (${cause})`,
    details: { provider, cause },
    retryable: true,
    ...(retryAfterMs ? { retryAfterSeconds: Math.ceil(retryAfterMs / 1000) } : {}),
    cause: fault ?? new Error(why),
  });
}

export function failedFor(provider: string, fault: UpstreamFault): AppError {
  return providerUnavailable(provider, causeOf(fault), fault.message, { retryAfterMs: fault.retryAfterMs, fault });
}

/** Create an error 400: the vendor rejected the input itself. */
export function upstreamRejected(provider: string, fault: UpstreamFault): AppError {
  return new AppError({
    code: 'upstream_rejected',
    status: 400,
    param: 'input',
    message: `provider ${provider} rejected the input: ${fault.message}`,
    details: { provider, status: fault.status, code: fault.code },
    cause: fault,
  });
}

export function isRejection(error: unknown): boolean {
  return error instanceof AppError && error.code === 'upstream_rejected';
}
