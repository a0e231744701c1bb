import { AppError } from '../../src/platform/errors.ts';

/** Size up to which bodies are not counted: small bodies are too many to refuse, and take little memory. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** Bound on the memory that the large bodies of all requests in progress take together. */
export class BodyMemory {
  readonly #bytesMax: number;
  #reservedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Reserve memory for a body. A single body of any size always fits.
   *
   * @returns the function that releases the memory; null for a body that is too small to be counted
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
