import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import {
  openScanKernel,
  PAGE_BYTES,
  PAGES_MAX,
  type ScanBuild,
  type ScanKernel,
  type ScanMemory,
} from './kernel/scan-kernel.ts';
import { randomSigns } from './random-signs.ts';
import { BLOCKS_START, SIGNS, VECTOR_BYTES, WORK } from './vector-layout.ts';

/** Pages by which the memory grows: 16 MiB. */
const GROWTH_PAGES = 256;

/** Areas of vectors have room for a multiple of this number, so that most are used again. */
const AREA_ROWS = 16;
const ALIGNMENT = 64;

/** Compute the size of the area that vectors are kept in. */
export function areaBytes({ byteLength }: Pick<Float32Array, 'byteLength'>): number {
  return Math.ceil(byteLength / (AREA_ROWS * VECTOR_BYTES)) * AREA_ROWS * VECTOR_BYTES;
}

/** Kernel with its memory, which grows with what is allocated. Its views are replaced whenever it grows. */
export class KernelMemory {
  readonly kernel: ScanKernel;
  readonly shared: ScanMemory;
  readonly build: ScanBuild;
  floats: Float32Array;
  numbers: Uint32Array;
  bytes: Uint8Array;
  #end = BLOCKS_START;
  /** Addresses of released areas, by their size in bytes. */
  readonly #areas = new Map<number, number[]>();

  /** @param builds of the kernel in order of preference */
  constructor(builds?: readonly ScanBuild[]) {
    const { kernel, memory, build } = openScanKernel(builds);
    this.kernel = kernel;
    this.shared = memory;
    this.build = build;
    this.floats = new Float32Array(memory.buffer);
    this.numbers = new Uint32Array(memory.buffer);
    this.bytes = new Uint8Array(memory.buffer);
    this.#reserve(this.#end);
    this.floats.set(randomSigns(), SIGNS / 4);
  }

  /** Return the address of memory that was not used before. @throws RangeError if the memory is full */
  allocate(bytes: number, alignment = 1): number {
    const address = Math.ceil(this.#end / alignment) * alignment;
    this.#reserve(address + bytes);
    this.#end = address + bytes;
    return address;
  }

  #reserve(end: number): void {
    const { shared } = this;
    const missing = Math.ceil((end - shared.buffer.byteLength) / PAGE_BYTES);
    if (missing <= 0) return;
    const pages = Math.max(missing, GROWTH_PAGES);
    if (shared.buffer.byteLength / PAGE_BYTES + pages > PAGES_MAX)
      throw new RangeError('the memory of the vectors is full');
    shared.grow(pages);
    this.floats = new Float32Array(shared.buffer);
    this.numbers = new Uint32Array(shared.buffer);
    this.bytes = new Uint8Array(shared.buffer);
  }

  /**
   * Copy vectors to an area of the memory. Unlike new arrays, it costs nothing to the collector of garbage, and is there already
   * if another one was released.
   *
   * @param vectors Float32Array [n x 1024] @returns the copy
   */
  keep(vectors: Float32Array): Float32Array {
    const bytes = areaBytes(vectors);
    const address = this.#areas.get(bytes)?.pop() ?? this.allocate(bytes, ALIGNMENT);
    const own = this.floats.subarray(address / 4, address / 4 + vectors.length);
    own.set(vectors);
    return own;
  }

  /** Erase a copy that `keep` has made, and let others use its area. */
  release(kept: Float32Array): void {
    kept.fill(0);
    const bytes = areaBytes(kept);
    const released = this.#areas.get(bytes);
    if (released) released.push(kept.byteOffset);
    else this.#areas.set(bytes, [kept.byteOffset]);
  }

  /** Rotate a vector as all stored ones and all queries are, to an address. @param vector Float32Array [1024] */
  rotateTo(address: number, vector: Float32Array): void {
    this.floats.set(vector, address / 4);
    this.kernel.rotate(address, SIGNS);
  }

  /** Return the dot product of the vector at an address with another one: Float32Array [1024]. */
  productAt(address: number, vector: Float32Array): number {
    const { floats } = this;
    let sum = 0;
    for (let at = 0; at < INDEX_DIMENSIONS; at++) sum += (floats[address / 4 + at] as number) * (vector[at] as number);
    return sum;
  }

  /** Subtract a multiple of a vector from the one in the working memory: Float32Array [1024]. */
  subtractFromWork(vector: Float32Array, times: number): void {
    const { floats } = this;
    for (let at = 0; at < INDEX_DIMENSIONS; at++) {
      floats[WORK / 4 + at] = (floats[WORK / 4 + at] as number) - times * (vector[at] as number);
    }
  }
}
