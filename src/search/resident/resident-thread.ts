import { Worker } from 'node:worker_threads';
import type { Call, OperationName, Operations, Reply } from './protocol.ts';

/** Size of the young generation of the thread, whose tables are outside the heap of V8. The default takes 100 MB. */
const YOUNG_GENERATION_MB = 12;

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Thread that holds resident tables. It starts at once, and ends with `close` or by an error. */
export class ResidentThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #ended: Error | null = null;

  constructor() {
    this.#worker = new Worker(new URL('./thread.ts', import.meta.url), {
      name: 'resident indexes',
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    this.#worker.on('message', ({ id, result, error }: Reply) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (this.#pending.size === 0) this.#worker.unref();
      if (error === undefined) pending?.resolve(result as never);
      else pending?.reject(new Error(error));
    });
    this.#worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))));
    this.#worker.on('exit', () => this.#end(new Error('the thread of the resident indexes has ended')));
    this.#worker.unref();
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  /** Run an operation. @throws Error if it fails, or if the thread has ended */
  call<Name extends OperationName>(
    name: Name,
    argument: Operations[Name]['argument'],
  ): Promise<Operations[Name]['result']> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      // Only while an answer is awaited does the thread keep the process running.
      this.#worker.ref();
      this.#worker.postMessage({ id, name, argument } satisfies Call<Name>);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
  }
}
