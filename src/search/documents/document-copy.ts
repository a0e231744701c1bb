import { LRUCache } from 'lru-cache';
import { type Reader, readTestOf } from '../../documents/visibility.ts';
import { countConditions, matcherOf } from '../filter/match-filter.ts';
import type { DocumentChanges, SearchedDocument } from './copy-store.ts';
import type { DocumentDetails, DocumentScope, LiveDocument } from './document-store.ts';
import { includesSnapshot, isOfSameServer, type Snapshot } from './snapshot.ts';

/** Scope that a copy can evaluate: one without a further condition. */
type CopiedScope = Pick<DocumentScope, 'collectionId' | 'filter'>;

/** Limits on cached selections: their number, and their total size as a multiple of the copy's documents. */
const SELECTIONS_MAX = 64;
const SELECTED_FACTOR = 4;
const SELECTED_MIN = 10_000;
/**
 * Growth limits of a copy: a factor, and a minimum for small copies. Beyond them the copy is reread, which updates its
 * memory accounting.
 */
const GROWTH_MAX = 1.25;
const GROWTH_BYTES_MIN = 1024 * 1024;
/** Maximum number of comparisons for a new selection. They take up to 0.2 µs each and block the event loop. */
const COMPARISONS_MAX = 50_000;
/** Memory per document in bytes, without its texts. */
const DOCUMENT_BYTES = 900;
/** Memory per access list entry in bytes. */
const LIST_ENTRY_BYTES = 64;

/** Predicate for the documents that a caller may find within a scope. */
interface Selector {
  /** Key that is equal for equivalent predicates. */
  readonly key: string;
  readonly includes: (document: SearchedDocument) => boolean;
}

/** Set of documents that match a selector, kept up to date. */
interface Selection {
  readonly ids: Set<string>;
  includes(document: SearchedDocument): boolean;
  /** The same ids as a list; null until needed. */
  list: readonly string[] | null;
}

/**
 * Facts of all searchable documents of a bucket at one snapshot of PostgreSQL. A copy decides which of them a caller
 * may find, exactly as PostgreSQL would at that snapshot. Applying changes moves it to a later snapshot.
 */
export class DocumentCopy {
  readonly bucketId: string;
  readonly #documents: Map<string, SearchedDocument>;
  /** Number of documents per access list entry. */
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

  /** Estimated memory of the copy's documents in bytes. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /**
   * Apply changes since a snapshot that the copy includes. Known changes have no effect.
   *
   * @param since snapshot after which the changes were read
   * @returns false if changes are missing or the copy has grown too much, which makes it unusable
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

  /** Count the memory and access list of an added (1) or removed (-1) document. */
  #count(document: SearchedDocument, sign: 1 | -1): void {
    this.#memoryBytes += sign * bytesOf(document);
    for (const entry of document.access_list ?? []) {
      const documents = (this.#listEntries.get(entry) ?? 0) + sign;
      if (documents > 0) this.#listEntries.set(entry, documents);
      else this.#listEntries.delete(entry);
    }
  }

  /** Build the predicate for a caller and a scope, once per search. */
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

  /** Return true if comparing all documents with a scope is fast enough. Otherwise, don't use the copy for it. */
  canSelect({ filter }: CopiedScope): boolean {
    return filter === null || this.size * countConditions(filter) <= COMPARISONS_MAX;
  }

  /** Return those of the documents that match the selector. */
  find(selector: Selector, ids: readonly string[]): Map<string, LiveDocument> {
    return this.#mapIncluded(selector, ids, ({ active_generation, keyword_only }) => ({
      bucketId: this.bucketId,
      generation: active_generation,
      isKeywordOnly: keyword_only,
    }));
  }

  /** Return the details to show for those of the documents that match the selector. */
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

  /** List the documents that match the selector, or return null if there are more than `documentsMax`. */
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
