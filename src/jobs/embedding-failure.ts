import { AppError } from '../platform/errors.ts';
import { JobError } from './lease.ts';
import type { ErrorCategory } from './schema.ts';

/** Why a job failed, by what the embedder says. */
const CATEGORY_BY_CODE: Readonly<Record<string, { category: ErrorCategory; retryable: boolean }>> = {
  provider_unavailable: { category: 'upstream_unavailable', retryable: true },
  upstream_rejected: { category: 'upstream_rejected', retryable: false },
  token_limit_exceeded: { category: 'too_large', retryable: false },
  quota_exceeded: { category: 'quota', retryable: false },
  axis_not_in_plan: { category: 'quota', retryable: false },
};

/**
 * What the embedder threw, as the failure of the job that called it; anything else comes back as it is.
 *
 * @param place which part of the job it was, in front of the message: `texts 100 to 199`
 */
export function asJobError(error: unknown, place?: string): unknown {
  if (!(error instanceof AppError)) return error;
  const known = CATEGORY_BY_CODE[error.code];
  if (!known) return error;
  const message = place === undefined ? error.message : `${place}: ${error.message}`;
  return new JobError({ ...known, message }, error);
}
