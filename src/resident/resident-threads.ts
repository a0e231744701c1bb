import { LRUCache } from 'lru-cache';
import { ResidentThread } from './resident-thread.ts';

/** Tables whose thread is remembered. */
const PLACED_MAX = 10_000;

/**
 * Threads that hold copies of tables, which are given to them in turn. A table that is dropped and read again goes to
 * the same thread: what it took there is free for it, and is not given back to the system.
 */
export class ResidentThreads {
  readonly #threads: (ResidentThread | null)[];
  /** Positions of the threads by table. */
  readonly #places = new LRUCache<string, number>({ max: PLACED_MAX });
  #next = 0;

  /** @param count number of threads, each of which starts when it is first used, or by `prepare` */
  constructor(count: number) {
    this.#threads = Array.from({ length: count }, () => null);
  }

  /** Return the thread for a table; another one takes the place of one that has ended. */
  of(name: string): ResidentThread {
    const at = this.#places.get(name) ?? this.#next++ % this.#threads.length;
    this.#places.set(name, at);
    const present = this.#threads[at];
    if (present && !present.isEnded) return present;
    const thread = new ResidentThread();
    this.#threads[at] = thread;
    return thread;
  }

  /** Start the thread of the first table, which takes some 100 ms. */
  prepare(): void {
    this.#threads[0] ??= new ResidentThread();
  }

  async close(): Promise<void> {
    for (const thread of this.#threads) await thread?.close();
  }
}
