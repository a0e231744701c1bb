import type { Threads } from '../../platform/threads.ts';
import { checkRows, type LoadedMap, project } from './loaded-map.ts';
import { BLOCK_ROWS_MAX, type MapLayout, readSlice, type Slice, TILE_ROWS, writeSlice } from './map-memory.ts';
import { paddedColumns } from './pack-panels.ts';
import type { AreaTask } from './project-on-thread.ts';

/** Maximum operations of a product to compute inline: about 5 ms on one core, which hardly delays the event loop. */
const INLINE_FLOPS_MAX = 250e6;

/** Minimum rows per slice. A thread reads the whole matrix for each slice, so smaller slices would be memory-bound. */
const SLICE_ROWS_MIN = 24;

/**
 * Project like `project`, but split a product of more than about 5 ms into slices of rows for worker threads.
 *
 * @param native Float32Array [n x k], row-major; not modified, and must not change before the promise settles
 * @returns Float32Array [n x d], without a promise if computed inline
 * @throws RangeError, AppError `embedding_not_finite`: as `project`, thrown or as a rejection
 * @throws the reason of `signal` if it is aborted before the last slice has a working area
 */
export function projectRows(
  threads: Pick<Threads, 'run'>,
  map: LoadedMap,
  native: Float32Array,
  d: number,
  signal?: AbortSignal,
): Float32Array | Promise<Float32Array> {
  const rows = checkRows(map.layout, native, d);
  if (rows * flopsPerRow(map.layout, d) <= INLINE_FLOPS_MAX) return project(map, native, d);
  return projectSlices(threads, map, native, d, signal);
}

async function projectSlices(
  threads: Pick<Threads, 'run'>,
  map: LoadedMap,
  native: Float32Array,
  d: number,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const rows = checkRows(map.layout, native, d);
  const projected = new Float32Array(rows * d);
  const sliceRows = rowsPerSlice(rows, flopsPerRow(map.layout, d));
  const slices: Promise<void>[] = [];
  for (let from = 0; from < rows; from += sliceRows) {
    const slice = { native, projected, d, from, to: Math.min(rows, from + sliceRows) };
    slices.push(projectSlice(threads, map, slice, signal));
  }
  await Promise.all(slices);
  return projected;
}

async function projectSlice(
  threads: Pick<Threads, 'run'>,
  map: LoadedMap,
  slice: Slice,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { layout, memory, module, areas } = map;
  const area = await areas.acquire(signal);
  try {
    writeSlice(layout, memory, area, slice);
    const task: AreaTask = { module, memory, layout, area, rows: slice.to - slice.from, d: slice.d };
    // Omit the signal: an aborted thread might still write to an area that has been released. Slices are short.
    const threadModule = new URL('./project-on-thread.ts', import.meta.url);
    const faultyRow = await threads.run<number>(threadModule, 'projectOnThread', task);
    readSlice(layout, memory, area, slice, faultyRow);
  } finally {
    areas.release(area);
  }
}

/** Compute the number of rows per slice: equal whole register tiles, about 5 ms each unless the matrix is too large. */
function rowsPerSlice(rows: number, flops: number): number {
  const most = Math.min(BLOCK_ROWS_MAX, Math.max(SLICE_ROWS_MIN, wholeTiles(Math.floor(INLINE_FLOPS_MAX / flops))));
  return Math.min(most, wholeTiles(Math.ceil(rows / Math.ceil(rows / most)) + TILE_ROWS - 1));
}

function wholeTiles(rows: number): number {
  return rows - (rows % TILE_ROWS);
}

function flopsPerRow(layout: MapLayout, d: number): number {
  return 2 * layout.nativeDimension * paddedColumns(Math.min(d, layout.dimensions));
}
