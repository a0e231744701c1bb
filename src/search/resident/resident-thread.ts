import { LRUCache } from 'lru-cache';
import { DedicatedThread } from '../../platform/dedicated-thread.ts';
import type { Operation, OperationName, Operations } from './protocol.ts';

/** Documents that the lists of a thread have together. */
const LISTED_MAX = 200_000;
/** Uses from which on a thread keeps a list. A search uses its list at least twice, by terms and by a vector. */
const KEPT_FROM_USE = 3;

/** Thread that holds resident tables. It starts at once, and ends with `close` or by an error. */
export class ResidentThread {
  readonly #thread = new DedicatedThread<Operation>(new URL('./thread.ts', import.meta.url), 'resident indexes');
  readonly #uses = new WeakMap<readonly string[], number>();
  readonly #lists = new LRUCache<readonly string[], number>({
    maxSize: LISTED_MAX,
    sizeCalculation: (_, ids) => ids.length + 1,
    dispose: (list) => void this.call('dropDocuments', { list }).catch(() => {}),
  });
  #nextList = 0;

  get isEnded(): boolean {
    return this.#thread.isEnded;
  }

  /** Run an operation. @throws Error if it fails, or if the thread has ended */
  call<Name extends OperationName>(
    name: Name,
    argument: Operations[Name]['argument'],
  ): Promise<Operations[Name]['result']> {
    return this.#thread.call({ name, argument });
  }

  /**
   * Return the number under which the thread keeps a list of documents that is used again and again, so that it is not sent
   * and looked up with each search. Another one, and null, is returned as it is.
   */
  listOf(ids: readonly string[] | null): readonly string[] | number | null {
    if (ids === null) return null;
    const kept = this.#lists.get(ids);
    if (kept !== undefined) return kept;
    const uses = (this.#uses.get(ids) ?? 0) + 1;
    this.#uses.set(ids, uses);
    if (uses < KEPT_FROM_USE) return ids;
    const list = this.#nextList++;
    // If the thread has ended, so does the search.
    this.call('putDocuments', { list, ids }).catch(() => {});
    this.#lists.set(ids, list);
    return list;
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }
}
