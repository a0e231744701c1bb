import { LRUCache } from 'lru-cache';
import { ResidentThread } from './resident-thread.ts';

/** Number of tables whose thread is remembered. */
const PLACED_MAX = 10_000;

/**
 * Threads that hold copies of tables, assigned in turn. A table that is dropped and read again returns to its thread,
 * which still has the memory of the first copy: a thread doesn't return freed memory to the system.
 */
export class ResidentThreads {
  readonly #threads: (ResidentThread | null)[];
  /** Thread index of each table. */
  readonly #places = new LRUCache<string, number>({ max: PLACED_MAX });
  #next = 0;

  /** @param count number of threads; each starts at its first use, or with `prepare` */
  constructor(count: number) {
    this.#threads = Array.from({ length: count }, () => null);
  }

  /** Return the thread of a table. Replace a thread that has ended. */
  of(name: string): ResidentThread {
    const at = this.#places.get(name) ?? this.#next++ % this.#threads.length;
    this.#places.set(name, at);
    const present = this.#threads[at];
    if (present && !present.isEnded) return present;
    const thread = new ResidentThread();
    this.#threads[at] = thread;
    return thread;
  }

  /** Start the first table's thread, which takes about 100 ms. */
  prepare(): void {
    this.#threads[0] ??= new ResidentThread();
  }

  async close(): Promise<void> {
    for (const thread of this.#threads) await thread?.close();
  }
}
