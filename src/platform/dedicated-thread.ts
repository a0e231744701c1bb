import { Worker } from 'node:worker_threads';
import { SlotMap } from './slot-map.ts';

/** Size of the young generation of a thread whose data is mostly outside the heap of V8. The default takes 100 MB. */
const YOUNG_GENERATION_MB = 12;

/** Message to a thread. */
export interface ThreadCall<Argument = unknown> {
  readonly id: number;
  readonly argument: Argument;
}

/** Answer to a call, by its id; a thread sends those that it has at the same time together. */
export interface ThreadReply {
  readonly id: number;
  readonly result?: unknown;
  /** Message of the error; undefined if there was none. */
  readonly error?: string;
}

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Thread of its own for one kind of work. Its module takes a `ThreadCall` with each message and answers with arrays of
 * `ThreadReply`. It starts at once, and ends with `close` or by an error; only while an answer is awaited does it keep the
 * process running.
 */
export class DedicatedThread<Argument> {
  readonly #worker: Worker;
  readonly #pending = new SlotMap<Pending>();
  #ended: Error | null = null;

  /** @param name name of the thread in tools of the system and in errors */
  constructor(module: URL, name: string, workerData: unknown = null) {
    this.#worker = new Worker(module, {
      name,
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    this.#worker.on('message', (replies: readonly ThreadReply[]) => {
      for (const reply of replies) this.#settle(reply);
    });
    this.#worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))));
    this.#worker.on('exit', () => this.#end(new Error(`the thread "${name}" has ended`)));
    this.#worker.unref();
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  /** @param transfer buffers that are moved, not copied. @throws Error if the call fails, or if the thread has ended */
  call<Result>(argument: Argument, transfer: readonly ArrayBuffer[] = []): Promise<Result> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<Result>((resolve, reject) => {
      const id = this.#pending.add({ resolve, reject });
      try {
        this.#worker.postMessage({ id, argument } satisfies ThreadCall<Argument>, transfer);
      } catch (error) {
        this.#pending.delete(id);
        throw error;
      }
      if (this.#pending.size === 1) this.#worker.ref();
    });
  }

  /** End the thread; calls in progress fail. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle({ id, result, error }: ThreadReply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker.unref();
    if (error === undefined) pending?.resolve(result as never);
    else pending?.reject(new Error(error));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#pending) reject(this.#ended);
  }
}

/** Message of what was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
