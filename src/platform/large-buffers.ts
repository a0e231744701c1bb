import { freeMemory } from './free-memory.ts';

/** Size below which a Buffer isn't pooled, because it is cheap to allocate and collect. */
const POOLED_BYTES_MIN = 8 * 1024;
const POOLED_BYTES_MAX = 16 * 1024 * 1024;
/** Total size of the idle Buffers. */
const IDLE_BYTES_MAX = 64 * 1024 * 1024;
const IDLE_MS = 10_000;

const idle = new Map<number, Buffer[]>();
let idleBytes = 0;
let isDropScheduled = false;

/**
 * Acquire an uninitialised Buffer of at least this size. Large Buffers are pooled: after every few large allocations V8
 * collects the whole heap, which takes some 100 ms of CPU, and the system has to clear each new page.
 */
export function acquireBuffer(bytes: number): Buffer {
  const size = pooledSize(bytes);
  if (size === null) return Buffer.allocUnsafeSlow(bytes);
  const used = idle.get(size)?.pop();
  if (!used) return Buffer.allocUnsafeSlow(size);
  idleBytes -= size;
  return used;
}

/** Return a Buffer (or a part of one) to the pool, or free it if the pool is full. Don't use it afterwards. */
export function releaseBuffer(used: Buffer): void {
  const { buffer } = used;
  const size = buffer.byteLength;
  if (pooledSize(size) !== size || idleBytes + size > IDLE_BYTES_MAX) {
    freeMemory(used);
    return;
  }
  const ofSize = idle.get(size) ?? [];
  idle.set(size, ofSize);
  ofSize.push(Buffer.from(buffer));
  idleBytes += size;
  if (!isDropScheduled) setTimeout(dropIdle, IDLE_MS).unref();
  isDropScheduled = true;
}

/** Drop the idle Buffers. Those in use return to the pool later and stay for another interval. */
function dropIdle(): void {
  isDropScheduled = false;
  for (const ofSize of idle.values()) ofSize.forEach(freeMemory);
  idle.clear();
  idleBytes = 0;
}

/** Round up to the size of a pooled Buffer, a power of two. Return null for a size that isn't pooled. */
function pooledSize(bytes: number): number | null {
  if (bytes < POOLED_BYTES_MIN || bytes > POOLED_BYTES_MAX) return null;
  return 2 ** Math.ceil(Math.log2(bytes));
}
