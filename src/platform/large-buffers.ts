/** Smaller ones cost next to nothing to make, and are left to the collector of garbage. */
const POOLED_BYTES_MIN = 64 * 1024;
const POOLED_BYTES_MAX = 16 * 1024 * 1024;
/** Of all that wait to be used again. */
const IDLE_BYTES_MAX = 64 * 1024 * 1024;
const IDLE_MS = 10_000;

const idle = new Map<number, Buffer[]>();
let idleBytes = 0;
let willBeDropped = false;

/**
 * A Buffer of at least so many bytes, whatever is in them. A large one may have been in use before: V8 collects the whole
 * heap, some 100 ms of CPU, for every few large allocations, and the system clears each page of them anew.
 */
export function acquireBuffer(bytes: number): Buffer {
  const size = sizeOf(bytes);
  if (size === null) return Buffer.allocUnsafeSlow(bytes);
  const used = idle.get(size)?.pop();
  if (!used) return Buffer.allocUnsafeSlow(size);
  idleBytes -= size;
  return used;
}

/** Give back what `acquireBuffer` gave, or a part of it. Nobody may look into it afterwards. */
export function releaseBuffer({ buffer }: Buffer): void {
  const size = buffer.byteLength;
  if (sizeOf(size) !== size || idleBytes + size > IDLE_BYTES_MAX) return;
  const alike = idle.get(size) ?? [];
  idle.set(size, alike);
  alike.push(Buffer.from(buffer));
  idleBytes += size;
  if (!willBeDropped) setTimeout(dropIdle, IDLE_MS).unref();
  willBeDropped = true;
}

/** What is in use now comes back and is kept for as long again. */
function dropIdle(): void {
  willBeDropped = false;
  idle.clear();
  idleBytes = 0;
}

/** A power of two; null for what is not kept. */
function sizeOf(bytes: number): number | null {
  if (bytes < POOLED_BYTES_MIN || bytes > POOLED_BYTES_MAX) return null;
  return 2 ** Math.ceil(Math.log2(bytes));
}
