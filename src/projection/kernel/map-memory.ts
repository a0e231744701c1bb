import { AppError } from '../../platform/errors.ts';
import { PANEL_COLUMNS, paddedColumns } from './pack-panels.ts';
import type { Kernel, KernelMemory } from './wasm-kernel.ts';

/** Rows that one call of the kernel takes, at most: whole register tiles. */
export const BLOCK_ROWS_MAX = 96;
export const TILE_ROWS = 6;

/**
 * Where things lie in the memory of a map, which starts with the packed matrix. Plain numbers: it is sent to threads.
 */
export interface MapLayout {
  /** Columns of the vectors that go in (k). */
  readonly nativeDimension: number;
  /** Axes that the map has (D). */
  readonly dimensions: number;
  /** Byte address of the mean; null where there is none. */
  readonly meanAddress: number | null;
  /** Working areas, each for a block of input rows and one of output rows. */
  readonly areasAddress: number;
  readonly areaBytes: number;
}

export function layOutMap(nativeDimension: number, dimensions: number, hasMean: boolean): MapLayout {
  const meanAddress = 4 * nativeDimension * paddedColumns(dimensions);
  return {
    nativeDimension,
    dimensions,
    meanAddress: hasMean ? meanAddress : null,
    areasAddress: wholeCacheLines(meanAddress + (hasMean ? 4 * nativeDimension : 0)),
    areaBytes: wholeCacheLines(4 * BLOCK_ROWS_MAX * (nativeDimension + paddedColumns(dimensions))),
  };
}

/** Rows [from .. to) of a product under way, `BLOCK_ROWS_MAX` at most. */
export interface Slice {
  /** Float32Array [n x k]. */
  readonly native: Float32Array;
  /** Float32Array [n x d]; axes beyond those of the map stay as they are. */
  readonly projected: Float32Array;
  readonly d: number;
  readonly from: number;
  readonly to: number;
}

/** Copy the native rows of a slice into a working area. */
export function putSlice(layout: MapLayout, memory: KernelMemory, area: number, slice: Slice): void {
  const { native, from, to } = slice;
  const k = layout.nativeDimension;
  floatsAt(memory, inputAddress(layout, area), (to - from) * k).set(native.subarray(from * k, to * k));
}

/**
 * Project the first `rows` rows of a working area, in place. Runs on any thread, one at a time for each area.
 *
 * @returns -1, or the first row of the area that is not finite
 */
export function projectArea(kernel: Kernel, layout: MapLayout, area: number, rows: number, d: number): number {
  const { nativeDimension, dimensions, meanAddress } = layout;
  const input = inputAddress(layout, area);
  const output = outputAddress(layout, area);
  const kept = Math.min(d, dimensions);
  const panels = paddedColumns(kept) / PANEL_COLUMNS;
  const stride = 4 * PANEL_COLUMNS * panels;
  if (meanAddress !== null) kernel.subtractMean(input, rows, nativeDimension, meanAddress);
  kernel.multiply(input, 4 * nativeDimension, rows, nativeDimension, 0, panels, output, stride);
  return kernel.normalizeRows(output, rows, stride, kept);
}

/**
 * Copy what `projectArea` left to the projected rows of a slice.
 *
 * @param faultyRow what it returned
 * @throws AppError `embedding_not_finite` (502)
 */
export function takeSlice(
  layout: MapLayout,
  memory: KernelMemory,
  area: number,
  slice: Slice,
  faultyRow: number,
): void {
  const { projected, d, from, to } = slice;
  if (faultyRow !== -1) throw notFinite(from + faultyRow);
  const kept = Math.min(d, layout.dimensions);
  const output = floatsAt(memory, outputAddress(layout, area), (to - from) * kept);
  if (kept === d) {
    projected.set(output, from * d);
    return;
  }
  for (let row = from, at = 0; row < to; row++, at += kept) projected.set(output.subarray(at, at + kept), row * d);
}

function notFinite(row: number): AppError {
  return new AppError({
    code: 'embedding_not_finite',
    status: 502,
    message: 'the provider returned an embedding with a value that is not a finite number',
    details: { row },
  });
}

function inputAddress(layout: MapLayout, area: number): number {
  return layout.areasAddress + area * layout.areaBytes;
}

function outputAddress(layout: MapLayout, area: number): number {
  return inputAddress(layout, area) + 4 * BLOCK_ROWS_MAX * layout.nativeDimension;
}

function wholeCacheLines(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}

/** A view of the kernel's memory. */
export function floatsAt(memory: KernelMemory, address: number, length: number): Float32Array<SharedArrayBuffer> {
  return new Float32Array(memory.buffer, address, length);
}
