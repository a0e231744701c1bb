import type { ActiveMap } from '../projection/projections.ts';

/** A call of more rows makes good use of the matrix by itself. */
const GATHERED_ROWS_MAX = 8;
/** Rows of one product: some 5 ms of one core at 1,536 by 1,536. */
const BATCH_ROWS_MAX = 48;

/** Native vectors to canonical ones by a model's map. */
export interface Projector {
  /**
   * @param native Float32Array [n x nativeDimension], row-major; not to be changed before the promise settles
   * @returns Float32Array [n x dimensions], rows of unit length: those that `map.project` gives
   * @throws what `map.project` throws for these rows
   */
  project(
    map: ActiveMap,
    native: Float32Array,
    shape: { nativeDimension: number; dimensions: number },
    signal: AbortSignal,
  ): Promise<Float32Array>;
}

interface Waiting {
  readonly native: Float32Array;
  resolve(vectors: Float32Array | Promise<Float32Array>): void;
  reject(error: unknown): void;
}

/** Calls for one product. */
interface Batch {
  readonly map: ActiveMap;
  readonly dimensions: number;
  readonly calls: Waiting[];
  floats: number;
}

/**
 * Small calls of one turn of the event loop share a product: for one row the matrix is read from memory (9 MB at 1,536
 * by 1,536, 0.3 to 0.5 ms), and for the next ones it is at hand. Nobody waits longer than the answers take that
 * have arrived already.
 */
export function openProjector(): Projector {
  let batches: Batch[] = [];

  function batchFor(map: ActiveMap, dimensions: number, floats: number, floatsMax: number): Batch {
    for (const batch of batches) {
      if (batch.map === map && batch.dimensions === dimensions && batch.floats + floats <= floatsMax) return batch;
    }
    const batch: Batch = { map, dimensions, calls: [], floats: 0 };
    // The check phase comes right after the sockets are read.
    if (batches.push(batch) === 1) setImmediate(projectAll);
    return batch;
  }

  function projectAll(): void {
    const all = batches;
    batches = [];
    for (const batch of all) {
      projectBatch(batch).catch(() => {
        // Somebody's row is at fault, or all are: each finds out for itself.
        for (const { native, resolve, reject } of batch.calls) {
          try {
            resolve(batch.map.project(native, batch.dimensions));
          } catch (error) {
            reject(error);
          }
        }
      });
    }
  }

  return {
    async project(map, native, { nativeDimension, dimensions }, signal) {
      if (native.length > GATHERED_ROWS_MAX * nativeDimension) return map.project(native, dimensions, signal);
      const batch = batchFor(map, dimensions, native.length, BATCH_ROWS_MAX * nativeDimension);
      batch.floats += native.length;
      return new Promise<Float32Array>((resolve, reject) => batch.calls.push({ native, resolve, reject }));
    },
  };
}

async function projectBatch({ map, dimensions, calls, floats }: Batch): Promise<void> {
  const [first] = calls as [Waiting];
  if (calls.length === 1) {
    first.resolve(await map.project(first.native, dimensions));
    return;
  }
  const native = new Float32Array(floats);
  let at = 0;
  for (const call of calls) {
    native.set(call.native, at);
    at += call.native.length;
  }
  const vectors = await map.project(native, dimensions);
  const perFloat = vectors.length / floats;
  let from = 0;
  for (const call of calls) {
    const to = from + Math.round(call.native.length * perFloat);
    call.resolve(vectors.slice(from, to));
    from = to;
  }
}
