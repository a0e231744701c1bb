import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';

/** Error codes that affect every bucket. */
const COMMON_CODES: ReadonlySet<string> = new Set(['index_unavailable', 'postgres_unavailable']);

/**
 * Failures of maintenance over the buckets of all organizations. A failing bucket, for example with a damaged index, is
 * logged and skipped, and work continues with the others.
 */
export class BucketFaults {
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #message: string;
  readonly #errors = new Map<string, unknown>();

  /** @param message log message for a failing bucket */
  constructor(logger: Logger, signal: AbortSignal, message: string) {
    this.#logger = logger;
    this.#signal = signal;
    this.#message = message;
  }

  get failed(): readonly string[] {
    return [...this.#errors.keys()];
  }

  /**
   * Work on a bucket unless it has failed before.
   *
   * @returns true if the work was done
   * @throws the abort reason of the signal; an error that affects every bucket
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

  /** Throw the error of the first failed bucket. Call this after all buckets. */
  throwFirst(): void {
    for (const error of this.#errors.values()) throw error;
  }
}
