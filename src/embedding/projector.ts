import { joinArrays } from '../platform/join-arrays.ts';
import type { ActiveMap } from '../projection/projections.ts';

/** Maximum rows of a call that shares a product. Larger calls use the matrix efficiently by themselves. */
const GATHERED_ROWS_MAX = 8;
/** Rows of one product: about 5 ms of one core at 1,536 by 1,536. */
const BATCH_ROWS_MAX = 48;

/** Projects native vectors into the canonical space with a model's map. */
export interface Projector {
  /**
   * @param native Float32Array [n x nativeDimension], row-major; must not change before the promise settles
   * @returns Float32Array [n x dimensions], rows of unit length, equal to those of `map.project`
   * @throws the error of `map.project` for these rows
   */
  project(
    map: ActiveMap,
    native: Float32Array,
    shape: { nativeDimension: number; dimensions: number },
    signal: AbortSignal,
  ): Promise<Float32Array>;
}

interface QueuedCall {
  readonly native: Float32Array;
  resolve(vectors: Float32Array | Promise<Float32Array>): void;
  reject(error: unknown): void;
}

/** Calls that share one product. */
interface Batch {
  readonly map: ActiveMap;
  readonly dimensions: number;
  readonly calls: QueuedCall[];
  floats: number;
}

/**
 * Open a projector. Small calls of one event-loop iteration share a product. The first row reads the matrix from memory
 * (4.7 MB at 1,536 by 1,536, up to 0.3 ms), and the next rows find it in the CPU cache. A call waits only while answers
 * that have already arrived are handled.
 */
export function openProjector(): Projector {
  let batches: Batch[] = [];

  function batchFor(map: ActiveMap, dimensions: number, floats: number, floatsMax: number): Batch {
    for (const batch of batches) {
      if (batch.map === map && batch.dimensions === dimensions && batch.floats + floats <= floatsMax) return batch;
    }
    const batch: Batch = { map, dimensions, calls: [], floats: 0 };
    // `setImmediate` runs in the check phase, right after the sockets are read.
    if (batches.push(batch) === 1) setImmediate(projectAll);
    return batch;
  }

  function projectAll(): void {
    const all = batches;
    batches = [];
    for (const batch of all) {
      projectBatch(batch).catch(() => {
        // One or all rows are faulty. Project each call alone, so that only faulty calls fail.
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
  const [first] = calls as [QueuedCall];
  if (calls.length === 1) {
    first.resolve(await map.project(first.native, dimensions));
    return;
  }
  const native = calls.map((call) => call.native);
  const vectors = await map.project(joinArrays(Float32Array, native), dimensions);
  const perFloat = vectors.length / floats;
  let from = 0;
  for (const call of calls) {
    const to = from + Math.round(call.native.length * perFloat);
    call.resolve(vectors.slice(from, to));
    from = to;
  }
}
