import { availableParallelism } from 'node:os';
import { Tinypool } from 'tinypool';

/** Size of the young generation of a thread: three times the size that its objects fill between two collections. */
const YOUNG_GENERATION_MB = 12;

/** Pool of worker threads that run functions exported by a module, so that CPU work never blocks the event loop. */
export interface Threads {
  /**
   * Call export `name` of the module with one structured-cloneable argument.
   * Buffers listed in `transfer` are moved, not copied.
   */
  run<Result>(
    module: URL,
    name: string,
    argument: unknown,
    options?: { signal?: AbortSignal; transfer?: ArrayBuffer[] },
  ): Promise<Result>;
  close(): Promise<void>;
}

/** Load of a pool of threads. */
export interface ThreadLoad {
  readonly threadsMax: number;
  /** Calls in progress, those that wait for a thread included. */
  readonly pending: number;
}

/** Open a pool of at most one thread per core, which starts on first use; idle threads end after 30 s. */
export function openThreads(): Threads & { load(): ThreadLoad } {
  const threadsMax = Math.max(1, availableParallelism());
  let pool: Tinypool | null = null;
  let pending = 0;
  const run: Threads['run'] = <Result>(
    module: URL,
    name: string,
    argument: unknown,
    options: { signal?: AbortSignal; transfer?: ArrayBuffer[] } = {},
  ) => {
    pool ??= openPool(threadsMax);
    pending++;
    const done = pool.run(argument, {
      filename: module.href,
      name,
      ...(options.signal ? { signal: options.signal } : {}),
      ...(options.transfer ? { transferList: options.transfer } : {}),
    }) as Promise<Result>;
    return done.finally(() => {
      pending--;
    });
  };
  return {
    run,
    load: () => ({ threadsMax, pending }),
    async close() {
      await pool?.destroy();
      pool = null;
    },
  };
}

function openPool(maxThreads: number): Tinypool {
  return new Tinypool({
    runtime: 'worker_threads',
    minThreads: 0,
    maxThreads,
    idleTimeout: 30_000,
    maxQueue: 10_000,
    // The default young generation of V8 takes 100 MB a thread and makes hardly anything faster.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
}

/** Buffers that these arrays have for themselves, to be moved; a view of a buffer that others use has to be copied. */
export function ownBuffersOf(arrays: readonly ArrayBufferView[]): ArrayBuffer[] {
  const used = new Map<ArrayBuffer, number>();
  for (const { buffer, byteLength } of arrays) {
    if (buffer instanceof ArrayBuffer) used.set(buffer, (used.get(buffer) ?? 0) + byteLength);
  }
  return [...used].filter(([buffer, bytes]) => bytes > 0 && bytes === buffer.byteLength).map(([buffer]) => buffer);
}

/** Wrap the result of a function on a thread so that `buffers` are moved to the caller, not copied. */
export function transferResult(value: unknown, buffers: readonly ArrayBuffer[]): unknown {
  return Tinypool.move({ [Tinypool.transferableSymbol]: buffers, [Tinypool.valueSymbol]: value } as never);
}
