import { AppError, conflict } from '../../platform/errors.ts';
import { type Sql, withAdvisoryLock } from '../../platform/postgres.ts';

/** Check that the lock of the index is still held. */
export type StillHeld = () => Promise<boolean>;

/**
 * Run `fn` as the only writer of a bucket's index, across all processes.
 *
 * @param direct connection pool for advisory locks; must not use a transaction pooler
 */
export function withIndexWriterLock<T>(
  direct: Sql,
  bucketId: string,
  fn: (stillHeld: StillHeld) => Promise<T>,
): Promise<T> {
  return withAdvisoryLock(direct, `index/${bucketId}`, fn);
}

/**
 * Run `fn` while no table of a bucket is dropped and none of its files is merged or deleted. Rows may be appended and
 * deleted meanwhile, since LanceDB can commit an index at the same time.
 *
 * @param direct as for `withIndexWriterLock`
 */
export function withIndexBuildLock<T>(
  direct: Sql,
  bucketId: string,
  fn: (stillHeld: StillHeld) => Promise<T>,
): Promise<T> {
  return withAdvisoryLock(direct, `index-build/${bucketId}`, fn);
}

/**
 * Run `fn` as the only writer of a bucket's index, while none of its indexes is being built. `fn` may therefore drop
 * tables and delete files.
 *
 * @param direct as for `withIndexWriterLock`
 */
export function withIndexToItself<T>(
  direct: Sql,
  bucketId: string,
  fn: (stillHeld: StillHeld) => Promise<T>,
): Promise<T> {
  return withIndexWriterLock(direct, bucketId, (isWriter) =>
    withIndexBuildLock(direct, bucketId, (isAlone) => fn(async () => (await isWriter()) && (await isAlone()))),
  );
}

/** Return the options of a write that is refused once the lock is lost. */
export function lockedBy(stillHeld: StillHeld): { readonly requireLock: () => Promise<void> } {
  return {
    requireLock: async () => {
      if (!(await stillHeld())) throw lockLost();
    },
  };
}

export function lockLost(): AppError {
  const message = 'the writer lost its lock on the index; try again';
  return new AppError({ code: 'index_lock_lost', status: 503, message, retryable: true });
}

export function generationGone(): AppError {
  return new AppError({ code: 'generation_gone', status: 409, message: 'the document was deleted meanwhile' });
}

export function reprojectionGone(): AppError {
  return conflict('this reprojection was abandoned, or its bucket was deleted; start it again', 'reprojection_gone');
}
