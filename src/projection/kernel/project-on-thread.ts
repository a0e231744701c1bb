import { type MapLayout, projectArea } from './map-memory.ts';
import { instantiateKernel, type KernelMemory, type KernelModule } from './wasm-kernel.ts';

/** A block of rows that lies ready in a working area of a map. Nothing of it is copied between threads. */
export interface AreaTask {
  readonly module: KernelModule;
  readonly memory: KernelMemory;
  readonly layout: MapLayout;
  readonly area: number;
  readonly rows: number;
  readonly d: number;
}

/**
 * For worker threads: `projectArea` with an instance of its own on the shared memory. Making one takes less than
 * 0.1 ms, as the module comes compiled; so nothing is kept that would hold the memory of a retired map.
 *
 * @returns -1, or the first row of the area that is not finite
 */
export function projectOnThread({ module, memory, layout, area, rows, d }: AreaTask): number {
  return projectArea(instantiateKernel(module, memory), layout, area, rows, d);
}
