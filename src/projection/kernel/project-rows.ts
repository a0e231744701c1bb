import type { Threads } from '../../platform/threads.ts';
import { checkRows, type LoadedMap, project } from './loaded-map.ts';
import { BLOCK_ROWS_MAX, type MapLayout, putSlice, type Slice, TILE_ROWS, takeSlice } from './map-memory.ts';
import { paddedColumns } from './pack-panels.ts';
import type { AreaTask } from './project-on-thread.ts';

/** About 5 ms of one core. Smaller products are made at once: an event loop can wait so long. */
const INLINE_FLOPS_MAX = 250e6;

/** A thread reads the whole matrix for a slice, however small; fewer rows would wait for memory. */
const SLICE_ROWS_MIN = 24;

/**
 * As `project`, but anything above about 5 ms is cut into slices of rows that go to worker threads.
 *
 * @param native Float32Array [n x k], row-major; not changed, and not to be changed before the promise settles
 * @returns Float32Array [n x d]: at once where it was made at once
 * @throws RangeError, AppError `embedding_not_finite`: as `project`, at once or as a rejection
 * @throws the reason of `signal` when it is aborted before the last slice is on its way
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
    putSlice(layout, memory, area, slice);
    const task: AreaTask = { module, memory, layout, area, rows: slice.to - slice.from, d: slice.d };
    // Without the signal: an aborted thread may write for a moment yet, and the area would not be free. Slices are short.
    const threadModule = new URL('./project-on-thread.ts', import.meta.url);
    const faultyRow = await threads.run<number>(threadModule, 'projectOnThread', task);
    takeSlice(layout, memory, area, slice, faultyRow);
  } finally {
    areas.release(area);
  }
}

/** Rows of about equal slices: whole register tiles, about 5 ms each where the matrix is not too large for that. */
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
