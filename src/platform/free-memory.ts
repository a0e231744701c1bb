/** Size below which an ArrayBuffer is left to the garbage collector. */
const FREED_BYTES_MIN = 4_096;

/**
 * Free the memory of a large array now instead of at the next garbage collection. For each 64 MB of new buffers, V8
 * collects the whole heap, which takes some 100 ms of CPU. Every view of the same ArrayBuffer is empty afterwards, so
 * the caller must own it alone. It must never be a Buffer from Node's pool.
 */
export function freeMemory({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= FREED_BYTES_MIN) buffer.transfer(0);
}

/** Return true if the bytes fill their ArrayBuffer, and aren't part of a larger one or of Node's pool. */
export function ownsMemory(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength;
}
