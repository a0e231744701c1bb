import type { Caller } from '../../access/caller.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { FilterShares } from '../filter-shares.ts';
import { type DocumentCopy, selectorOf } from './document-copy.ts';
import {
  type DocumentScope,
  findLiveDocuments,
  type ListBound,
  type LiveDocument,
  listLiveDocumentIds,
} from './document-store.ts';

/** Documents that a caller may find within the scope of a search. */
export interface LiveDocuments {
  /**
   * Filter documents to those that can be found.
   *
   * @param detailedIds lists those among them whose details are wanted, if it takes longer to find the details of all
   */
  find(ids: readonly string[], detailedIds: () => readonly string[]): Promise<ReadonlyMap<string, LiveDocument>>;
  /** Filter documents to those of the buckets that the caller may find, whatever else the scope demands. */
  findInBuckets(ids: readonly string[]): Promise<ReadonlyMap<string, LiveDocument>>;
  /** List the documents that can be found; null if there are more than the bound. The list may have to be `confirm`ed. */
  list(bound: ListBound): Promise<readonly string[] | null>;
  /** Return false if a list has changed since the search began. The next list needs no confirmation. */
  confirm(list: readonly string[]): Promise<boolean>;
  /**
   * Share of the candidates that the scope is likely to leave; 0: its documents are to be listed; undefined: it is not known.
   */
  likelyShare(bound: ListBound): number | undefined;
  /** Note the share that the scope has left; undefined: forget what was noted. */
  noteShare(share: number | undefined): void;
}

/** Scope of all documents of the buckets. */
const WHOLE_BUCKETS = { collectionId: null, filter: null };

/** Ask PostgreSQL. */
export function askForDocuments(sql: Sql, caller: Caller, scope: DocumentScope, shares: FilterShares): LiveDocuments {
  return {
    find: (ids, detailedIds) => findLiveDocuments(sql, caller, scope, ids, detailedIds()),
    findInBuckets: (ids) => findLiveDocuments(sql, caller, { bucketIds: scope.bucketIds, ...WHOLE_BUCKETS }, ids, []),
    list: ({ documentsMax }) => listLiveDocumentIds(sql, caller, scope, documentsMax),
    confirm: async () => true,
    likelyShare: () => shares.get(caller, scope),
    noteShare: (share) => shares.note(caller, scope, share),
  };
}

/** Copy of the documents of a bucket that a search uses. */
export interface SearchedCopy {
  /** The copy as it was when the search began. */
  readonly begun: DocumentCopy;
  /** The copy once it has followed what PostgreSQL told after the search began; null: PostgreSQL must be asked. */
  readonly confirmed: Promise<DocumentCopy | null>;
}

/**
 * Ask a copy in memory. What is found is as new as the search; a list may be older, so that the search need not wait for
 * PostgreSQL.
 */
export function documentsInMemory(
  copy: SearchedCopy,
  caller: Caller,
  scope: DocumentScope,
  postgres: LiveDocuments,
): LiveDocuments {
  const selector = selectorOf(caller, scope);
  let isConfirmed = false;
  let unconfirmed: readonly string[] | null = null;
  const confirmed = async () => {
    const own = await copy.confirmed;
    isConfirmed = true;
    return own;
  };
  return {
    async find(ids, detailedIds) {
      const own = await confirmed();
      return own ? own.find(selector, ids) : postgres.find(ids, detailedIds);
    },
    async findInBuckets(ids) {
      const own = await confirmed();
      return own ? own.find(selectorOf(caller, WHOLE_BUCKETS), ids) : postgres.findInBuckets(ids);
    },
    async list(bound) {
      const own = isConfirmed ? await copy.confirmed : copy.begun;
      if (own === null) return postgres.list(bound);
      const ids = own.list(selector, bound);
      if (!isConfirmed) unconfirmed = ids;
      return ids;
    },
    async confirm(list) {
      const own = await confirmed();
      return list !== unconfirmed || own?.isCurrent(selector, list) === true;
    },
    likelyShare: (bound) => copy.begun.use(selector, bound),
    noteShare: () => {},
  };
}
