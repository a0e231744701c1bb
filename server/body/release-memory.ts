/**
 * Free the memory of unused bytes, if nothing else shares it. Otherwise V8 would soon collect the whole heap at once,
 * since it limits the memory outside the heap.
 */
export function releaseMemory({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
