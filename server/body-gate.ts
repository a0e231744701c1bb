import { AppError } from '../src/platform/errors.ts';

/** Smaller bodies are too many to hold back, and too small to matter. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** Bounds what the large bodies of requests under way take in memory together. */
export class BodyGate {
  readonly #bytesMax: number;
  #heldBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Room for a body of so many bytes, until the function returned is called. One body always fits, however large.
   *
   * @throws AppError `server_busy` (503)
   */
  enter(bytes: number): () => void {
    if (bytes <= LARGE_BYTES) return () => undefined;
    if (this.#heldBytes > 0 && this.#heldBytes + bytes > this.#bytesMax) {
      throw new AppError({
        code: 'server_busy',
        status: 503,
        message: 'other large requests are being read; try again',
        retryable: true,
        retryAfterSeconds: 5,
      });
    }
    this.#heldBytes += bytes;
    return () => {
      this.#heldBytes -= bytes;
    };
  }
}
