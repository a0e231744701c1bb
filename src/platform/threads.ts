import { availableParallelism } from 'node:os';
import { Tinypool } from 'tinypool';

/** Young generation size of a thread: three times what its objects fill between two collections. */
const YOUNG_GENERATION_MB = 12;

export interface ThreadOptions {
  /** Signal that aborts the call, which then rejects with the reason. */
  readonly signal?: AbortSignal;
  /** Buffers that are moved, not copied. */
  readonly transfer?: ArrayBuffer[];
  /** True for work that takes seconds: it gets its own thread, delays no other call, and ends when aborted. */
  readonly isLong?: boolean;
}

/** Worker threads that run exported functions of modules, so that CPU work never blocks the event loop. */
export interface Threads {
  /** Call the module's export `name` with one structured-cloneable argument. */
  run<Result>(module: URL, name: string, argument: unknown, options?: ThreadOptions): Promise<Result>;
  close(): Promise<void>;
}

export interface ThreadLoad {
  readonly threadsMax: number;
  /** Number of calls in progress, including those that wait for a thread. */
  readonly pending: number;
}

/** Call that waits for a thread of the pool. */
interface Waiting {
  readonly begin: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Open a pool of at most one thread per core. It starts on first use, and idle threads end after 30 s.
 *
 * A running call is never aborted: Tinypool would end the thread with all that it has loaded, and might still give it
 * another caller's call. Instead, it continues and its result is ignored. A call that is aborted before its turn is
 * dropped.
 */
export function openThreads(): Threads & { load(): ThreadLoad } {
  const threadsMax = Math.max(1, availableParallelism());
  const waiting = new Set<Waiting>();
  let pool: Tinypool | null = null;
  let running = 0;
  const beginNext = () => {
    const [next] = waiting;
    if (next === undefined || running >= threadsMax) return;
    waiting.delete(next);
    next.begin();
  };
  const runInPool = <Result>(call: TinypoolCall, signal: AbortSignal | undefined) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const begin = () => {
      running++;
      pool ??= openPool(threadsMax);
      const done = runCall<Result>(pool, call).finally(() => {
        running--;
        beginNext();
      });
      done.then(resolve, reject);
    };
    const entry: Waiting = { begin, reject };
    const abort = () => {
      waiting.delete(entry);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    waiting.add(entry);
    beginNext();
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  };
  return {
    async run<Result>(module: URL, name: string, argument: unknown, options: ThreadOptions = {}) {
      const { signal, transfer = [], isLong = false } = options;
      signal?.throwIfAborted();
      const call = { argument, filename: module.href, name, transferList: transfer };
      return isLong ? runAlone<Result>(call, signal) : runInPool<Result>(call, signal);
    },
    load: () => ({ threadsMax, pending: running + waiting.size }),
    async close() {
      for (const { reject } of waiting) reject(new Error('the threads were closed before this call began'));
      waiting.clear();
      const closed = pool;
      pool = null;
      await closed?.destroy();
    },
  };
}

/** Call of a module's export `name` with one structured-cloneable argument. */
interface TinypoolCall {
  readonly argument: unknown;
  /** URL of the module. */
  readonly filename: string;
  readonly name: string;
  readonly transferList?: ArrayBuffer[];
  /** Set only for a pool without other calls. */
  readonly signal?: AbortSignal;
}

function runCall<Result>(pool: Tinypool, { argument, ...call }: TinypoolCall): Promise<Result> {
  return pool.run(argument, call) as Promise<Result>;
}

/** Run a call on its own thread, which ends with the call or when aborted. */
async function runAlone<Result>(call: TinypoolCall, signal: AbortSignal | undefined): Promise<Result> {
  const thread = openThread();
  try {
    return await thread.run<Result>(call, signal);
  } finally {
    thread.close();
  }
}

/** Open a separate thread for sequential calls. */
export function openThread() {
  const pool = openPool(1);
  return {
    /**
     * Run a call. An abort rejects immediately and ends the thread, or later if the thread is blocked in a system call.
     * @throws the reason of an abort, and the error of the call
     */
    async run<Result>(call: TinypoolCall, signal: AbortSignal | undefined): Promise<Result> {
      try {
        return await runCall<Result>(pool, signal === undefined ? call : { ...call, signal });
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
    },
    close(): void {
      void pool.destroy();
    },
  };
}

function openPool(maxThreads: number): Tinypool {
  return new Tinypool({
    runtime: 'worker_threads',
    minThreads: 0,
    maxThreads,
    idleTimeout: 30_000,
    // V8's default young generation takes 100 MB per thread and is hardly faster.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
}

/** Return the buffers that these arrays fill entirely, which can be moved. A view of a larger buffer must be copied. */
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
