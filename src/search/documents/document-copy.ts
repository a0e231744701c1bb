import { LRUCache } from 'lru-cache';
import { type Reader, readTestOf } from '../../documents/visibility.ts';
import { countConditions, matcherOf } from '../filter/match-filter.ts';
import type { DocumentChanges, SearchedDocument } from './copy-store.ts';
import type { DocumentDetails, DocumentScope, LiveDocument } from './document-store.ts';
import { includesSnapshot, isOfSameServer, type Snapshot } from './snapshot.ts';

/** Scope that a copy can decide: one without a further condition. */
type CopiedScope = Pick<DocumentScope, 'collectionId' | 'filter'>;

/**
 * Limits on the selections of a copy: their number, and the total of their documents as a multiple of the copy's
 * documents.
 */
const SELECTIONS_MAX = 64;
const SELECTED_FACTOR = 4;
const SELECTED_MIN = 10_000;
/**
 * Limits on the growth of a copy, as a factor, and as a minimum for small copies. Beyond them the copy is read again,
 * so that its memory is counted.
 */
const GROWTH_MAX = 1.25;
const GROWTH_BYTES_MIN = 1024 * 1024;
/**
 * Maximum number of comparisons for a new selection. Each takes up to 0.2 microseconds, and all of them block the event
 * loop.
 */
const COMPARISONS_MAX = 50_000;
/** Memory of a document besides its texts. */
const DOCUMENT_BYTES = 900;
/** Memory of an entry of an access list. */
const LIST_ENTRY_BYTES = 64;

/** Test for the documents that a caller may find within a scope. */
interface Selector {
  /** Key that is equal for tests with equal results. */
  readonly key: string;
  readonly includes: (document: SearchedDocument) => boolean;
}

/** Documents that a selector includes, kept up to date. */
interface Selection {
  readonly ids: Set<string>;
  includes(document: SearchedDocument): boolean;
  /** The same ids as a list; null if it was not made yet. */
  list: readonly string[] | null;
}

/**
 * Facts of all documents of a bucket that searches find, as of one snapshot of PostgreSQL. A copy answers which of them
 * a caller may find, as PostgreSQL would at that snapshot. After it has applied changes, it answers for a later
 * snapshot.
 */
export class DocumentCopy {
  readonly bucketId: string;
  readonly #documents: Map<string, SearchedDocument>;
  /** Number of documents by entry of their access lists. */
  readonly #listEntries = new Map<string, number>();
  readonly #selections: LRUCache<string, Selection>;
  readonly #sizeMax: number;
  readonly #memoryBytesMax: number;
  #memoryBytes = 0;
  #snapshot: Snapshot;

  constructor(bucketId: string, snapshot: Snapshot, documents: readonly SearchedDocument[]) {
    this.bucketId = bucketId;
    this.#snapshot = snapshot;
    this.#documents = new Map(documents.map((document) => [document.id, document]));
    this.#sizeMax = GROWTH_MAX * documents.length + SELECTED_MIN;
    for (const document of this.#documents.values()) this.#count(document, 1);
    this.#memoryBytesMax = GROWTH_MAX * this.#memoryBytes + GROWTH_BYTES_MIN;
    this.#selections = new LRUCache({
      max: SELECTIONS_MAX,
      maxSize: SELECTED_MIN + SELECTED_FACTOR * documents.length,
    });
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  get size(): number {
    return this.#documents.size;
  }

  /** Estimated memory of the documents of a copy. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /**
   * Apply changes since a snapshot that the copy includes. If the copy is already at a later snapshot, changes that it
   * knows have no effect.
   *
   * @param since snapshot after which the changes were read
   * @returns false if the changes are incomplete, or if the copy has grown too much; it must then no longer be used
   */
  follow(since: Snapshot, { snapshot, keptFrom, changed }: DocumentChanges): boolean {
    if (!isOfSameServer(snapshot, this.#snapshot)) return false;
    if (includesSnapshot(this.#snapshot, snapshot)) return true;
    if (changed === null || since.xmin < keptFrom) return false;
    this.#snapshot = snapshot;
    for (const [id, document] of changed) {
      this.#set(id, document);
      for (const selection of this.#selections.values()) update(selection, id, document);
    }
    return this.#documents.size <= this.#sizeMax && this.#memoryBytes <= this.#memoryBytesMax;
  }

  #set(id: string, document: SearchedDocument | null): void {
    const before = this.#documents.get(id);
    if (before) this.#count(before, -1);
    if (document) {
      this.#documents.set(id, document);
      this.#count(document, 1);
    } else this.#documents.delete(id);
  }

  /** Count the memory and the access list of a document that comes (1) or leaves (-1). */
  #count(document: SearchedDocument, sign: 1 | -1): void {
    this.#memoryBytes += sign * bytesOf(document);
    for (const entry of document.access_list ?? []) {
      const documents = (this.#listEntries.get(entry) ?? 0) + sign;
      if (documents > 0) this.#listEntries.set(entry, documents);
      else this.#listEntries.delete(entry);
    }
  }

  /** Make the test of a scope for a caller. A search makes it once for all of its questions. */
  selectorOf(reader: Reader, { collectionId, filter }: CopiedScope): Selector {
    const { key, allows } = readTestOf(reader, (entry) => this.#listEntries.has(entry));
    const matches = filter === null ? null : matcherOf(filter);
    return {
      key: JSON.stringify([key, collectionId, filter]),
      includes: (document) =>
        allows(document) &&
        (collectionId === null || document.collection_id === collectionId) &&
        (matches === null || matches(document)),
    };
  }

  /** Return true if all documents can be compared with a scope in a short time. Ask the copy only for such scopes. */
  canSelect({ filter }: CopiedScope): boolean {
    return filter === null || this.size * countConditions(filter) <= COMPARISONS_MAX;
  }

  /** Filter documents to those that the selector includes. */
  find(selector: Selector, ids: readonly string[]): Map<string, LiveDocument> {
    return this.#mapIncluded(selector, ids, ({ active_generation, keyword_only }) => ({
      bucketId: this.bucketId,
      generation: active_generation,
      isKeywordOnly: keyword_only,
    }));
  }

  /** Read the details that results show, for the documents that the selector includes. */
  readDetails(selector: Selector, ids: readonly string[]): Map<string, DocumentDetails> {
    return this.#mapIncluded(selector, ids, ({ file_name, source_path, metadata }) => ({
      fileName: file_name,
      sourcePath: source_path,
      metadata,
    }));
  }

  #mapIncluded<T>({ includes }: Selector, ids: readonly string[], map: (document: SearchedDocument) => T) {
    const found = new Map<string, T>();
    for (const id of ids) {
      const document = this.#documents.get(id);
      if (document && includes(document)) found.set(id, map(document));
    }
    return found;
  }

  /** List the documents that the selector includes, or return null if there are more than `documentsMax`. */
  list(selector: Selector, documentsMax: number): readonly string[] | null {
    const selection = this.#select(selector);
    if (selection.ids.size > documentsMax) return null;
    selection.list ??= [...selection.ids];
    return selection.list;
  }

  #select({ key, includes }: Selector): Selection {
    const known = this.#selections.get(key);
    if (known) return known;
    const ids = new Set<string>();
    for (const document of this.#documents.values()) if (includes(document)) ids.add(document.id);
    const selection: Selection = { ids, includes, list: null };
    this.#selections.set(key, selection, { size: ids.size + 1 });
    return selection;
  }
}

function update(selection: Selection, id: string, document: SearchedDocument | null): void {
  const isIncluded = document !== null && selection.includes(document);
  if (isIncluded === selection.ids.has(id)) return;
  if (isIncluded) selection.ids.add(id);
  else selection.ids.delete(id);
  selection.list = null;
}

function bytesOf({ file_name, source_path, metadata, access_list }: SearchedDocument): number {
  let characters = file_name.length + (source_path?.length ?? 0) + LIST_ENTRY_BYTES * (access_list?.length ?? 0);
  for (const [key, value] of Object.entries(metadata)) characters += key.length + value.length;
  return DOCUMENT_BYTES + characters;
}
