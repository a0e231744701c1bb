import { LRUCache } from 'lru-cache';
import { DedicatedThread } from '../../platform/dedicated-thread.ts';
import type { Operation, OperationName, Operations } from './protocol.ts';

/** Bound on the lists of a thread, in units of about 64 bytes. */
const LISTED_MAX = 500_000;
/** Rows of a table whose flags, a byte each, take one unit; a list has those of every table that it was used with. */
const ROWS_PER_UNIT = 64;
/** Uses from which on a thread keeps a list. A search uses its list at least twice, by terms and by a vector. */
const KEPT_FROM_USE = 3;

/** Thread that holds resident tables. It starts at once, and ends with `close` or by an error. */
export class ResidentThread {
  readonly #thread = new DedicatedThread<Operation>(new URL('./thread.ts', import.meta.url), 'resident indexes');
  readonly #uses = new WeakMap<readonly string[], number>();
  readonly #lists: LRUCache<readonly string[], number>;
  #nextList = 0;

  /** @param listedMax bound on the lists that it keeps: an id counts one, and 64 rows of the tables that are searched count one */
  constructor(listedMax = LISTED_MAX) {
    this.#lists = new LRUCache({
      maxSize: listedMax,
      dispose: (list) => void this.call('dropDocuments', { list }).catch(() => {}),
    });
  }

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
   *
   * @param rows of the tables that are searched with it
   */
  listOf(ids: readonly string[] | null, rows: number): readonly string[] | number | null {
    if (ids === null) return null;
    const kept = this.#lists.get(ids);
    if (kept !== undefined) return kept;
    const uses = (this.#uses.get(ids) ?? 0) + 1;
    this.#uses.set(ids, uses);
    if (uses < KEPT_FROM_USE) return ids;
    const list = this.#nextList++;
    // If the thread has ended, so does the search.
    this.call('putDocuments', { list, ids }).catch(() => {});
    this.#lists.set(ids, list, { size: ids.length + Math.ceil(rows / ROWS_PER_UNIT) + 1 });
    return list;
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }
}
