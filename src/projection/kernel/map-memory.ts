import { AppError } from '../../platform/errors.ts';
import { PANEL_COLUMNS, paddedColumns } from './pack-panels.ts';
import { pairsOf } from './round-weights.ts';
import type { Kernel, KernelMemory } from './wasm-kernel.ts';

/** Maximum number of rows per kernel call, in whole register tiles. */
export const BLOCK_ROWS_MAX = 96;
export const TILE_ROWS = 6;
/** Kernel argument for vectors without a mean to subtract. */
const NO_MEAN = 0;

/** Memory layout of a map, with the rounded matrix first. It contains only numbers, so it can be sent to threads. */
export interface MapLayout {
  /** Columns of the input vectors (k). */
  readonly nativeDimension: number;
  /** Axes of the map (D). */
  readonly dimensions: number;
  /** Byte address of the column scales. */
  readonly scalesAddress: number;
  /** Byte address of the mean, or null. */
  readonly meanAddress: number | null;
  /** Byte address of the working areas, each with a block of input rows and a block of output rows. */
  readonly areasAddress: number;
  readonly areaBytes: number;
}

export function layOutMap(nativeDimension: number, dimensions: number, hasMean: boolean): MapLayout {
  const columns = paddedColumns(dimensions);
  const scalesAddress = 4 * pairsOf(nativeDimension) * columns;
  const meanAddress = scalesAddress + 4 * columns;
  return {
    nativeDimension,
    dimensions,
    scalesAddress,
    meanAddress: hasMean ? meanAddress : null,
    areasAddress: wholeCacheLines(meanAddress + (hasMean ? 4 * nativeDimension : 0)),
    areaBytes: wholeCacheLines(4 * BLOCK_ROWS_MAX * (nativeDimension + columns)),
  };
}

/** Rows [from .. to) of a product in progress, at most `BLOCK_ROWS_MAX`. */
export interface Slice {
  /** Float32Array [n x k]. */
  readonly native: Float32Array;
  /** Float32Array [n x d]. Axes beyond those of the map are left unwritten. */
  readonly projected: Float32Array;
  readonly d: number;
  readonly from: number;
  readonly to: number;
}

/** Copy the native rows of a slice into a working area. */
export function writeSlice(layout: MapLayout, memory: KernelMemory, area: number, slice: Slice): void {
  const { native, from, to } = slice;
  const k = layout.nativeDimension;
  floatsAt(memory, inputAddress(layout, area), (to - from) * k).set(native.subarray(from * k, to * k));
}

/**
 * Project the first `rows` rows of a working area in place. Runs on any thread, but only once at a time per area.
 *
 * @returns -1, or the first row of the area that is not finite
 */
export function projectArea(kernel: Kernel, layout: MapLayout, area: number, rows: number, d: number): number {
  const { nativeDimension, dimensions, scalesAddress, meanAddress } = layout;
  const input = inputAddress(layout, area);
  const output = outputAddress(layout, area);
  const kept = Math.min(d, dimensions);
  const panels = paddedColumns(kept) / PANEL_COLUMNS;
  const stride = 4 * PANEL_COLUMNS * panels;
  const faultyRow = kernel.roundRows(input, rows, nativeDimension, meanAddress ?? NO_MEAN);
  if (faultyRow !== -1) return faultyRow;
  kernel.multiplyIntegers(input, 4 * nativeDimension, rows, pairsOf(nativeDimension), 0, panels, output, stride);
  kernel.normalizeRows(output, rows, stride, kept, scalesAddress);
  return -1;
}

/**
 * Copy the result of `projectArea` to the projected rows of a slice.
 *
 * @param faultyRow return value of `projectArea`
 * @throws AppError `embedding_not_finite` (502)
 */
export function readSlice(
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
    message: 'the provider returned an embedding with a value that is not a finite number; try again',
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

export function floatsAt(memory: KernelMemory, address: number, length: number): Float32Array<SharedArrayBuffer> {
  return new Float32Array(memory.buffer, address, length);
}
