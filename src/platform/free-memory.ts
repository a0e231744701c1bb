/** Smaller ones are left to the collector of garbage. */
const FREED_BYTES_MIN = 4_096;

/**
 * Give the memory behind large bytes back now, not at the next collection of garbage: V8 collects the whole heap, some
 * 100 ms of CPU, for each 64 MB that buffers took meanwhile. Everything that looks into the same ArrayBuffer is
 * empty afterwards, so that it must be nobody else's: never a Buffer from Node's pool.
 */
export function freeMemory({ buffer }: Uint8Array | Float32Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= FREED_BYTES_MIN) buffer.transfer(0);
}

/** Whether the bytes are all that is in their ArrayBuffer: not a part of a larger one, nor of Node's pool. */
export function ownsMemory(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength;
}
