import { Worker } from 'node:worker_threads';
import { SlotMap } from './slot-map.ts';

/** Young generation size for a thread whose data is mostly outside the V8 heap. The default takes 100 MB. */
const YOUNG_GENERATION_MB = 12;

export interface ThreadCall<Argument = unknown> {
  readonly id: number;
  readonly argument: Argument;
}

/** Answer to the call with this id. A thread sends simultaneous answers in one message. */
export interface ThreadReply {
  readonly id: number;
  readonly result?: unknown;
  /** Message of the error; undefined if there was none. */
  readonly error?: string;
}

interface Outgoing<Argument> {
  readonly call: ThreadCall<Argument>;
  readonly transfer: readonly ArrayBuffer[];
}

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Thread dedicated to one kind of work. Its module receives arrays of `ThreadCall` and answers with arrays of
 * `ThreadReply`. The thread starts immediately, and ends on `close` or an error. It keeps the process running only
 * while an answer is pending.
 */
export class DedicatedThread<Argument> {
  readonly #worker: Worker;
  readonly #pending = new SlotMap<Pending>();
  /**
   * Calls made in this turn of the event loop, to be sent together: waking the thread costs more than sending most
   * calls.
   */
  #calls: Outgoing<Argument>[] = [];
  #ended: Error | null = null;

  /** @param name name of the thread in system tools and errors */
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

  /**
   * Call the thread. The call is sent at the end of this turn of the event loop.
   * @param argument must not be changed until the answer
   * @param transfer buffers that are moved, not copied
   * @throws Error if the call fails, or if the thread has ended
   */
  call<Result>(argument: Argument, transfer: readonly ArrayBuffer[] = []): Promise<Result> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<Result>((resolve, reject) => {
      const id = this.#pending.add({ resolve, reject });
      if (this.#pending.size === 1) this.#worker.ref();
      this.#calls.push({ call: { id, argument }, transfer });
      if (this.#calls.length === 1) process.nextTick(() => this.#send());
    });
  }

  #send(): void {
    const calls = this.#calls;
    this.#calls = [];
    try {
      this.#post(calls);
    } catch {
      // One of the calls can't be sent. Find it by sending each alone.
      for (const own of calls) this.#sendAlone(own);
    }
  }

  #sendAlone(own: Outgoing<Argument>): void {
    try {
      this.#post([own]);
    } catch (error) {
      this.#settle({ id: own.call.id, error: messageOf(error) });
    }
  }

  #post(calls: readonly Outgoing<Argument>[]): void {
    const sent: readonly ThreadCall<Argument>[] = calls.map(({ call }) => call);
    this.#worker.postMessage(
      sent,
      calls.flatMap(({ transfer }) => transfer),
    );
  }

  /** End the thread. Calls in progress fail. */
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

/** Return the message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
