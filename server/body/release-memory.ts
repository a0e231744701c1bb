/**
 * Free the memory of bytes that are not needed any more, if nothing else shares it. If it were left to the garbage collector,
 * V8 would soon collect the whole heap at once, since it bounds the memory outside of the heap.
 */
export function releaseMemory({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
