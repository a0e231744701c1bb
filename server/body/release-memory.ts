/**
 * Free the memory of unused bytes, if nothing else shares it. Otherwise V8 would soon run a full collection, since it
 * limits memory outside the heap.
 */
export function releaseMemory({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
