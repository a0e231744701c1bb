import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import {
  openRowKernel,
  PAGE_BYTES,
  PAGES_MAX,
  type RowBuild,
  type RowKernel,
  type WasmMemory,
} from './kernel/row-kernel.ts';
import { BLOCK_ALIGNMENT, BLOCKS_START, SIGNS } from './layout.ts';
import { randomSigns } from './random-signs.ts';

/** Number of pages to grow by: 16 MiB. */
const GROWTH_PAGES = 256;

/** Kernel and its growing memory. Each growth replaces the views. */
export class KernelMemory {
  readonly kernel: RowKernel;
  readonly #memory: WasmMemory;
  floats!: Float32Array;
  numbers!: Uint32Array;
  bytes!: Uint8Array;
  #end = BLOCKS_START;

  /** @param builds builds of the kernel, in order of preference */
  constructor(builds?: readonly RowBuild[]) {
    const { kernel, memory } = openRowKernel(builds);
    this.kernel = kernel;
    this.#memory = memory;
    this.#reserve(this.#end);
    this.floats.set(randomSigns(), SIGNS / 4);
  }

  /** Return the address of unused memory. @throws RangeError if the memory is full */
  allocate(bytes: number): number {
    const address = Math.ceil(this.#end / BLOCK_ALIGNMENT) * BLOCK_ALIGNMENT;
    this.#reserve(address + bytes);
    this.#end = address + bytes;
    return address;
  }

  #reserve(end: number): void {
    const present = this.#memory.buffer.byteLength;
    const missing = Math.ceil((end - present) / PAGE_BYTES);
    if (missing > 0) {
      const pages = Math.max(missing, GROWTH_PAGES);
      if (present / PAGE_BYTES + pages > PAGES_MAX) throw new RangeError('the memory of the vectors is full');
      this.#memory.grow(pages);
    }
    const { buffer } = this.#memory;
    this.floats = new Float32Array(buffer);
    this.numbers = new Uint32Array(buffer);
    this.bytes = new Uint8Array(buffer);
  }

  /** Copy a vector to an address and rotate it, like all stored vectors and queries. */
  rotateTo(address: number, vector: Float32Array): void {
    this.floats.set(vector, address / 4);
    this.kernel.rotate(address, SIGNS);
  }

  /** Return a view of the vector at an address: Float32Array [1024]. */
  vectorAt(address: number): Float32Array {
    return this.floats.subarray(address / 4, address / 4 + INDEX_DIMENSIONS);
  }
}
