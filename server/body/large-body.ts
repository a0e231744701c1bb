import type { IncomingMessage } from 'node:http';
import { bodyTooLarge, clientGone } from '../errors.ts';
import type { BodyReservation } from './body-memory.ts';
import type { JsonShape } from './check-json-shape.ts';
import { releaseMemory } from './release-memory.ts';

/** Initial buffer size. */
const FIRST_BYTES = 256 * 1024;
/** Growth factor of the buffer. Each growth copies at most a quarter of the new size. */
const GROWTH = 4;

export interface LargeBodyLimits {
  /** Limit of the body, counted while it arrives. */
  readonly limitBytes: number;
  /** Advice for the sender of a larger body. */
  readonly advice?: string | undefined;
  /** Reservation that counts arriving bytes. */
  readonly memory: BodyReservation | null;
  /** Counter of values in the bytes, which may refuse them. */
  readonly shape?: JsonShape | undefined;
}

/**
 * Read a body of any size. Copy bytes into one buffer as they arrive: joining 64 MB at the end would block the event
 * loop for more than 100 ms. The result has its own ArrayBuffer, which may be larger than the result.
 * @throws AppError 400 of the shape, 413, 503 without memory for the body, or `client_gone`
 */
export function readLargeBody(req: IncomingMessage, limits: LargeBodyLimits): Promise<Buffer> {
  const announced = Number(req.headers['content-length'] ?? limits.limitBytes);
  let bytes = Buffer.allocUnsafeSlow(Math.min(FIRST_BYTES, announced));
  let length = 0;
  const add = (chunk: Buffer) => {
    const needed = length + chunk.length;
    if (needed > limits.limitBytes) throw bodyTooLarge(limits.limitBytes, limits.advice);
    limits.memory?.add(chunk.length);
    limits.shape?.add(chunk);
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(bytes.length * GROWTH, announced)));
      bytes.copy(larger, 0, 0, length);
      releaseMemory(bytes);
      bytes = larger;
    }
    chunk.copy(bytes, length);
    releaseMemory(chunk);
    length = needed;
  };
  return new Promise((resolve, reject) => {
    const stop = () => {
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      req.pause();
    };
    const onData = (chunk: Buffer) => {
      try {
        add(chunk);
      } catch (error) {
        stop();
        for (const part of [bytes, chunk]) releaseMemory(part);
        reject(error);
      }
    };
    const onEnd = () => {
      stop();
      resolve(bytes.subarray(0, length));
    };
    const onGone = (error?: Error) => {
      stop();
      releaseMemory(bytes);
      reject(clientGone(error));
    };
    if (req.destroyed) return onGone();
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}
