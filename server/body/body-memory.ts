import { AppError } from '../../src/platform/errors.ts';

/** Smaller bodies are too many to hold back, and too small to matter. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** Bounds the memory that the large bodies of requests under way take together. */
export class BodyMemory {
  readonly #bytesMax: number;
  #reservedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Reserve memory for a body. One body always fits, however large.
   *
   * @returns the function that releases it; null for a body that is too small to be counted
   * @throws AppError `server_busy` (503)
   */
  reserve(bytes: number): (() => void) | null {
    if (bytes <= LARGE_BYTES) return null;
    if (this.#reservedBytes > 0 && this.#reservedBytes + bytes > this.#bytesMax) {
      throw new AppError({
        code: 'server_busy',
        status: 503,
        message: 'other large requests are being read; try again',
        retryable: true,
        retryAfterSeconds: 5,
      });
    }
    this.#reservedBytes += bytes;
    return () => {
      this.#reservedBytes -= bytes;
    };
  }
}
