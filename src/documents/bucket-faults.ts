import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';

/** Codes of errors that every bucket would have. */
const COMMON_CODES: ReadonlySet<string> = new Set(['index_unavailable', 'postgres_unavailable']);

/**
 * Failures of maintenance that goes through the buckets of all organizations. A bucket that fails, for example because
 * its index is damaged, is logged and left out, and the others go on.
 */
export class BucketFaults {
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #message: string;
  readonly #errors = new Map<string, unknown>();

  /** @param message of the log line of a bucket that fails */
  constructor(logger: Logger, signal: AbortSignal, message: string) {
    this.#logger = logger;
    this.#signal = signal;
    this.#message = message;
  }

  /** Buckets that have failed. */
  get failed(): readonly string[] {
    return [...this.#errors.keys()];
  }

  /**
   * Do work on a bucket, unless it has failed before.
   *
   * @returns true if it was done
   * @throws what the signal was aborted with; an error that every bucket would have
   */
  async attempt(bucketId: string, work: () => Promise<void>): Promise<boolean> {
    this.#signal.throwIfAborted();
    if (this.#errors.has(bucketId)) return false;
    try {
      await work();
      return true;
    } catch (error) {
      if (this.#signal.aborted || (error instanceof AppError && COMMON_CODES.has(error.code))) throw error;
      this.#logger.warn({ err: error, bucket_id: bucketId }, this.#message);
      this.#errors.set(bucketId, error);
      return false;
    }
  }

  /** Throw the error of the first bucket that failed, once the others are done. */
  throwFirst(): void {
    for (const error of this.#errors.values()) throw error;
  }
}
