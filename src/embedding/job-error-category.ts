import { AppError } from '../platform/errors.ts';

/** Failure of the embedder, or of the rights of an account, as a job records it (`error_category`). */
export interface EmbeddingFailure {
  readonly category: 'upstream_unavailable' | 'upstream_rejected' | 'too_large' | 'quota';
  readonly retryable: boolean;
}

const BY_CODE: Readonly<Record<string, EmbeddingFailure>> = {
  provider_unavailable: { category: 'upstream_unavailable', retryable: true },
  upstream_rejected: { category: 'upstream_rejected', retryable: false },
  token_limit_exceeded: { category: 'too_large', retryable: false },
  quota_exceeded: { category: 'quota', retryable: false },
  storage_quota_exceeded: { category: 'quota', retryable: false },
  creator_refused: { category: 'quota', retryable: false },
  axis_not_in_plan: { category: 'quota', retryable: false },
};

/** Return how a job records an error of the embedder or of the rights of an account; null for other errors. */
export function jobErrorCategoryOf(error: unknown): EmbeddingFailure | null {
  return error instanceof AppError ? (BY_CODE[error.code] ?? null) : null;
}
