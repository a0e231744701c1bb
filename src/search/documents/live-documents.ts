import type { Caller } from '../../access/caller.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { DocumentCopy } from './document-copy.ts';
import {
  type DocumentDetails,
  type DocumentScope,
  findLiveDocuments,
  type LiveDocument,
  listLiveDocumentIds,
  readDocumentDetails,
} from './document-store.ts';

/** Documents that a caller may find within the scope of a search. */
export interface LiveDocuments {
  /** True if the documents are in memory, so that listing needs no query. */
  readonly isInMemory: boolean;
  /** Return those of the documents that can be found. */
  find(ids: readonly string[]): Promise<ReadonlyMap<string, LiveDocument>>;
  /** Return those of the documents that the caller may find in the buckets, ignoring other conditions of the scope. */
  findInBuckets(ids: readonly string[]): Promise<ReadonlyMap<string, LiveDocument>>;
  /** Read the document details that results show. Skip documents that can no longer be found. */
  readDetails(ids: readonly string[]): Promise<ReadonlyMap<string, DocumentDetails>>;
  /** List the documents that can be found, or return null if there are more than `documentsMax`. */
  list(documentsMax: number): Promise<readonly string[] | null>;
}

/** Scope of all documents of the buckets. */
const WHOLE_BUCKETS = { collectionId: null, filter: null };

/** Decide in PostgreSQL which documents a caller may find. */
export function askForDocuments(sql: Sql, caller: Caller, scope: DocumentScope): LiveDocuments {
  const wholeBuckets = { bucketIds: scope.bucketIds, ...WHOLE_BUCKETS };
  return {
    isInMemory: false,
    find: (ids) => findLiveDocuments(sql, caller, scope, ids),
    findInBuckets: (ids) => findLiveDocuments(sql, caller, wholeBuckets, ids),
    readDetails: (ids) => readDocumentDetails(sql, caller, scope, ids),
    list: (documentsMax) => listLiveDocumentIds(sql, caller, scope, documentsMax),
  };
}

/** Decide with an in-memory copy which documents a caller may find. */
export function documentsInMemory(copy: DocumentCopy, caller: Caller, scope: DocumentScope): LiveDocuments {
  const selector = copy.selectorOf(caller, scope);
  return {
    isInMemory: true,
    find: async (ids) => copy.find(selector, ids),
    findInBuckets: async (ids) => copy.find(copy.selectorOf(caller, WHOLE_BUCKETS), ids),
    readDetails: async (ids) => copy.readDetails(selector, ids),
    list: async (documentsMax) => copy.list(selector, documentsMax),
  };
}
