import type { Allowed } from './keyword-rows.ts';
import type { LegQuery } from './protocol.ts';
import type { ResidentTable } from './resident-table.ts';

/** Query whose documents are found. */
export type Resolved<Query extends LegQuery> = Omit<Query, 'documents'> & { readonly documents: DocumentList | null };

/** Documents that searches are restricted to. The rows that they have in a table are found once, until the table changes. */
export class DocumentList {
  readonly #ids: readonly string[];
  readonly #rows = new WeakMap<ResidentTable, { readonly edition: number; readonly allowed: Allowed }>();

  constructor(ids: readonly string[]) {
    this.#ids = ids;
  }

  allowedRows(table: ResidentTable): Allowed {
    const known = this.#rows.get(table);
    if (known?.edition === table.edition) return known.allowed;
    const allowed = table.allowedRows(this.#ids);
    this.#rows.set(table, { edition: table.edition, allowed });
    return allowed;
  }
}

/** Lists that the main thread has put, by their numbers. */
export class DocumentLists {
  readonly #lists = new Map<number, DocumentList>();

  put(list: number, ids: readonly string[]): void {
    this.#lists.set(list, new DocumentList(ids));
  }

  /** Forget a list. Searches that were resolved with it before keep it. */
  drop(list: number): void {
    this.#lists.delete(list);
  }

  /** @throws Error if the list of the query is not there */
  resolve<Query extends LegQuery>({ documents, ...query }: Query): Resolved<Query> {
    if (documents === null) return { ...query, documents };
    if (typeof documents !== 'number') return { ...query, documents: new DocumentList(documents) };
    const list = this.#lists.get(documents);
    if (!list) throw new Error('the list of documents is not there any more');
    return { ...query, documents: list };
  }
}
