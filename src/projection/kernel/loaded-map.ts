import { availableParallelism } from 'node:os';
import {
  BLOCK_ROWS_MAX,
  floatsAt,
  layOutMap,
  type MapLayout,
  projectArea,
  readSlice,
  writeSlice,
} from './map-memory.ts';
import { paddedColumns } from './pack-panels.ts';
import { roundWeights } from './round-weights.ts';
import {
  allocateKernelMemory,
  instantiateKernel,
  type Kernel,
  type KernelMemory,
  type KernelModule,
  kernelModule,
} from './wasm-kernel.ts';
import { WorkingAreas } from './working-areas.ts';

/** Weights of an affine map into the canonical space, as fitted and stored. */
export interface MapWeights {
  /** Columns of the input vectors (k). */
  readonly nativeDimension: number;
  /** Axes of the map (D). */
  readonly dimensions: number;
  /** Matrix [k x D] in the layout of `packPanels`. */
  readonly packed: Float32Array;
  /** Float32Array [k] to subtract from every row first, or null. */
  readonly mean: Float32Array | null;
}

/**
 * Map in its own kernel memory, which garbage collection frees. The engine ignores shared memory when scheduling
 * garbage collection, so load a map once and keep it.
 */
export interface LoadedMap {
  readonly layout: MapLayout;
  readonly module: KernelModule;
  readonly memory: KernelMemory;
  readonly kernel: Kernel;
  /** Working areas for other threads, excluding `OWN_AREA`. */
  readonly areas: WorkingAreas;
}

/** Working area of the thread that loaded the map. */
const OWN_AREA = 0;

/**
 * Copy a map into memory shared by all threads: 2 * k * D bytes, and up to 3 MiB per thread. Round the matrix to 16-bit
 * integers (`roundWeights`).
 *
 * @param threadsMax maximum number of concurrent worker threads that use the map, besides the loading thread
 * @throws RangeError if lengths and shapes don't match or a weight is not finite
 */
export function loadMap(
  weights: MapWeights,
  { module = kernelModule(), threadsMax = availableParallelism() }: { module?: KernelModule; threadsMax?: number } = {},
): LoadedMap {
  const { nativeDimension, dimensions, packed, mean } = weights;
  checkWeights(weights);
  const layout = layOutMap(nativeDimension, dimensions, mean !== null);
  const memory = allocateKernelMemory(layout.areasAddress + (1 + threadsMax) * layout.areaBytes);
  const kernel = instantiateKernel(module, memory);
  const addresses = { target: 0, scratch: layout.areasAddress };
  const scales = roundWeights({ kernel, memory }, packed, nativeDimension, addresses);
  floatsAt(memory, layout.scalesAddress, scales.length).set(scales);
  if (mean && layout.meanAddress !== null) floatsAt(memory, layout.meanAddress, nativeDimension).set(mean);
  return {
    layout,
    module,
    memory,
    kernel,
    areas: new WorkingAreas(OWN_AREA + 1, threadsMax),
  };
}

/**
 * Project vectors: subtract the mean, multiply, keep the first `d` axes, L2-normalise. Run synchronously, on the thread
 * that loaded the map.
 *
 * @param native Float32Array [n x k], row-major
 * @param d output dimension; axes beyond those of the map are zero
 * @returns Float32Array [n x d]. A smaller d gives the normalised prefix of a larger one. A row whose kept axes are all
 *   zero becomes the unit vector of the first axis. The values of a row don't depend on other rows
 * @throws RangeError if lengths and shapes don't match
 * @throws AppError `embedding_not_finite` (502) if a row contains NaN or an infinity
 */
export function project(map: LoadedMap, native: Float32Array, d: number): Float32Array {
  const { kernel, layout, memory } = map;
  const rows = checkRows(layout, native, d);
  const projected = new Float32Array(rows * d);
  for (let from = 0; from < rows; from += BLOCK_ROWS_MAX) {
    const slice = { native, projected, d, from, to: Math.min(rows, from + BLOCK_ROWS_MAX) };
    writeSlice(layout, memory, OWN_AREA, slice);
    const faultyRow = projectArea(kernel, layout, OWN_AREA, slice.to - from, d);
    readSlice(layout, memory, OWN_AREA, slice, faultyRow);
  }
  return projected;
}

/** Check the shape of the input. @returns the number of rows @throws RangeError if lengths and shapes do not match */
export function checkRows(layout: MapLayout, native: Float32Array, d: number): number {
  const rows = native.length / layout.nativeDimension;
  if (!Number.isInteger(rows)) {
    throw new RangeError(`${native.length} values are not a whole number of rows of ${layout.nativeDimension}`);
  }
  if (!(Number.isInteger(d) && d >= 1)) throw new RangeError(`cannot project to ${d} dimensions`);
  return rows;
}

function checkWeights({ nativeDimension, dimensions, packed, mean }: MapWeights): void {
  if (!(Number.isInteger(nativeDimension) && Number.isInteger(dimensions) && nativeDimension >= 1 && dimensions >= 1)) {
    throw new RangeError(`a map cannot have ${nativeDimension} x ${dimensions} weights`);
  }
  const expected = nativeDimension * paddedColumns(dimensions);
  if (packed.length !== expected) {
    throw new RangeError(
      `a map of ${nativeDimension} x ${dimensions} has ${expected} packed weights, not ${packed.length}`,
    );
  }
  if (mean && mean.length !== nativeDimension) {
    throw new RangeError(`the mean of ${nativeDimension} dimensions has ${mean.length} values`);
  }
  if (mean && !mean.every(Number.isFinite)) throw new RangeError('the mean of a map has a value that is not finite');
}
