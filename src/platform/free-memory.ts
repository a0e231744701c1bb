/**
 * Give the memory behind large bytes back now, not at the next collection of garbage: V8 collects the whole heap, some
 * 20 ms on the event loop, for each 64 MB that buffers took meanwhile. Everything that looks into the same ArrayBuffer is
 * empty afterwards, so that it must be nobody else's: never a Buffer from Node's pool.
 */
export function freeMemory(bytes: Uint8Array): void {
  if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
}
