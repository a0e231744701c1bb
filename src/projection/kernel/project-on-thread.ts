import { type MapLayout, projectArea } from './map-memory.ts';
import { instantiateKernel, type KernelMemory, type KernelModule } from './wasm-kernel.ts';

/** Block of rows in a map's working area. Threads don't copy rows. */
export interface AreaTask {
  readonly module: KernelModule;
  readonly memory: KernelMemory;
  readonly layout: MapLayout;
  readonly area: number;
  readonly rows: number;
  readonly d: number;
}

/**
 * Run `projectArea` on a worker thread, with a new instance on the shared memory. Instantiating the compiled module
 * takes less than 0.1 ms. Don't cache instances, which would keep the memory of a retired map.
 *
 * @returns -1, or the first row of the area that is not finite
 */
export function projectOnThread({ module, memory, layout, area, rows, d }: AreaTask): number {
  return projectArea(instantiateKernel(module, memory), layout, area, rows, d);
}
