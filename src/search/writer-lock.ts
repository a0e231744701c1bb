import { AppError } from '../platform/errors.ts';
import { type Sql, withAdvisoryLock } from '../platform/postgres.ts';

/**
 * Run `fn` as the only writer of a bucket's index, in this process and all others.
 *
 * @param direct connection pool for advisory locks; must not go through a transaction pooler
 */
export function withIndexWriterLock<T>(
  direct: Sql,
  bucketId: string,
  fn: (stillHeld: () => Promise<boolean>) => Promise<T>,
): Promise<T> {
  return withAdvisoryLock(direct, `index/${bucketId}`, fn);
}

export function lockLost(): AppError {
  const message = 'the writer lost its lock on the index; try again';
  return new AppError({ code: 'index_lock_lost', status: 503, message, retryable: true });
}
