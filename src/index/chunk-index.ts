import type { Locator } from '../documents/locator.ts';
import type { WeightedTerms } from '../language/analyser.ts';
import type { SpelledWord } from '../language/spelled-words.ts';
import type { Correction } from '../resident/keywords/correct-words.ts';

/** Way to settle a table. */
export interface SettleOptions {
  /** Ends the work early. The table stays usable. */
  readonly signal?: AbortSignal;
  /** True if others wait for it, so that its process has the priority of this one. */
  readonly isUrgent?: boolean;
}

/**
 * The chunk index: one table per bucket, with the vectors, terms and texts of its chunks. `ChunkIndex` is the port to
 * the engine that holds the tables; `test/conformance/chunk-index.ts` is the suite that every driver passes. Tables
 * hold nothing that cannot be rebuilt from PostgreSQL and the object store. No table knows callers: PostgreSQL decides
 * who may see a chunk.
 */
export interface ChunkIndex {
  /**
   * Open tables for one search, each at its version or a newer one. Leave out tables that do not exist.
   *
   * A search finds every chunk that the versions have. For some seconds it may also find chunks that were removed.
   *
   * @returns null if none of the tables exists
   * @throws AppError `index_unavailable` (503)
   */
  open(tables: readonly TableVersion[], options?: ReadOptions): Promise<ChunkReader | null>;

  /** Read the facts of a table, or return null if it does not exist. */
  statistics(table: TableVersion): Promise<TableStatistics | null>;

  /** Read the first chunks of documents, those with an index below `perDocument`, in any order and at most `limit`. */
  readChunks(
    table: TableVersion,
    options: { readonly documentIds: readonly string[]; readonly perDocument: number; readonly limit: number },
  ): Promise<StoredChunks>;

  /** Read the terms of the chunks of generations, in any order. */
  readTokens(table: TableVersion, generations: readonly number[]): AsyncIterable<ChunkTokens>;

  /** Read whole chunks of generations with their vectors, a bounded number at a time and in any order. */
  readGenerations(table: TableVersion, generations: readonly number[]): AsyncIterable<IndexedGeneration>;

  /** Count the chunks of each generation in the latest version of a table. */
  countByGeneration(table: string): Promise<Map<number, number>>;

  /** Return the latest version of a table. */
  version(table: string): Promise<number>;

  /**
   * Append the chunks of generations, all or none of them. Create the table if it does not exist.
   *
   * The caller is the only writer of the table, here and in every other method that writes. A writer that lost its lock
   * without noticing may still append. PostgreSQL does not know the generation of such chunks, and a sweep removes
   * them.
   *
   * @throws AppError `index_unavailable`, `storage_full` (503)
   */
  append(table: string, generations: readonly IndexedGeneration[], options?: WriteOptions): Promise<TableState>;

  /** Remove all chunks of these documents and of these generations. */
  remove(table: string, selection: ChunkSelection, options?: WriteOptions): Promise<TableState>;

  /** Copy the chunks of generations from one table to another. */
  copyGenerations(from: TableVersion, to: string, generations: readonly number[]): Promise<void>;

  /**
   * Merge the files of many small appends, and bring the search indexes of a table up to date.
   *
   * @throws AppError `settle_failed` (503, retryable), which leaves the table usable; `index_unavailable`,
   *   `storage_full`; the reason of the signal
   */
  settle(table: string, options?: SettleOptions): Promise<TableState>;

  /**
   * Build the search indexes of a new table, without merging its files, so that searches are as fast as after `settle`.
   */
  prepareForSearches(table: string): Promise<TableState>;

  /**
   * Begin to build the search indexes of a new table before its last rows are made and appended.
   *
   * @param rows number of rows that the table will have
   * @param withLock runs work while no table of the bucket is dropped
   */
  buildAhead(table: string, rows: number, withLock: (work: () => Promise<void>) => Promise<void>): BuildAhead;

  /**
   * Erase removed chunks from the storage, including all copies that the engine keeps.
   *
   * @param publish announces the version without these chunks to readers; older versions are removed afterwards
   */
  expunge(table: string, options: WriteOptions & { publish(state: TableState): Promise<void> }): Promise<void>;

  /** Drop a table, if it exists. */
  drop(table: string): Promise<void>;

  /** Drop every table whose name is the id of a bucket or begins with it and `_`. */
  dropAll(bucketId: string): Promise<void>;

  /** Learn that readers may use a version from now on. This brings copies of the table up to date. */
  notePublished(table: TableVersion): void;

  /** Check that the engine answers. @throws AppError `index_unavailable` (503) */
  probe(): Promise<void>;

  /** Probe the engine again if the last probe has failed. @throws AppError `index_unavailable` (503) */
  requireReach(): Promise<void>;

  /** Await work as long as the engine answers. @throws AppError `index_unavailable` (503) */
  whileReached<T>(work: Promise<T>): Promise<T>;

  close(): Promise<void>;
}

/** One version of a table, as recorded in PostgreSQL. Each commit makes a new version with a larger number. */
export interface TableVersion {
  readonly name: string;
  readonly version: number;
}

export interface ReadOptions {
  /** Terms that replace those of the query in a table, by its name. */
  readonly ownTerms?: ReadonlyMap<string, readonly WeightedTerms[]>;
  /** Words of the query that may be replaced by similar ones if no table has them. A driver may ignore them. */
  readonly spelled?: readonly SpelledWord[];
}

export interface WriteOptions {
  /** Called right before the commit. It throws if the writer has lost its lock. */
  readonly requireLock?: () => Promise<void>;
  /** Called if a commit takes effect after the write was reported as failed. */
  readonly onLate?: () => void;
}

/** State of a table after a write. */
export interface TableState extends TableVersion {
  /** Files, or segments, of the rows. */
  readonly fragments: number;
  /** Number of rows that are not in the keyword index yet. */
  readonly unindexedRows: number;
  /** True if the table must be settled before more is written. */
  readonly isDueToSettle: boolean;
}

export interface TableStatistics {
  /** Number of rows of the table, including rows that are yet to be removed. */
  readonly rows: number;
  readonly fragments: number;
  readonly smallFragments: number;
  readonly unindexedRows: number;
}

export interface BuildAhead {
  /** Begin to build the indexes that are due at this number of written rows. */
  written(rows: number): void;
  /** Wait until no index is being built. If building an index failed, settling the table builds it. */
  finish(): Promise<void>;
}

/** One chunk in the index. */
export interface IndexedChunk {
  readonly chunkId: string;
  readonly documentId: string;
  readonly generation: number;
  readonly collectionId: string | null;
  readonly chunkIndex: number;
  readonly text: string;
  /** Analysed text: terms joined by spaces. */
  readonly tokens: string;
  readonly locator: Locator;
  readonly modality: 'text';
  readonly privacyLevel: number;
  readonly eventTimeMs: number | null;
}

/** Chunks of one generation with their vectors: Float32Array [chunks x 1024], row-major. */
export interface IndexedGeneration {
  readonly chunks: readonly IndexedChunk[];
  readonly vectors: Float32Array;
}

/** Chunks that belong to one of these documents or to one of these generations. */
export interface ChunkSelection {
  readonly documentIds: readonly string[];
  readonly generations: readonly number[];
}

/** Chunk that was read from a table. */
export type StoredChunk = Pick<IndexedChunk, 'chunkId' | 'documentId' | 'generation' | 'chunkIndex' | 'text'>;

export interface StoredChunks {
  readonly chunks: readonly StoredChunk[];
  /** Float32Array [n x 1024], row-major, in the order of the chunks. The caller owns it. */
  readonly vectors: Float32Array<ArrayBuffer>;
}

export type ChunkTokens = Pick<IndexedChunk, 'generation' | 'chunkIndex' | 'tokens'>;

/** Tables of one search, as both legs search them. */
export interface ChunkReader {
  /** Find the nearest chunks by cosine similarity, best first. `vector`: Float32Array [1024], L2-normalised. */
  searchVectors(vector: Float32Array, options: LegOptions): Promise<readonly Candidate[]>;
  /** Find chunks by BM25 over analysed text, best first. `terms`: the query after `analyse` and `weighTerms`. */
  searchKeywords(terms: readonly WeightedTerms[], options: LegOptions): Promise<readonly Candidate[]>;
  /** Words that the last keyword search replaced. */
  corrections(): readonly Correction[];
  /** Compare a sample of the rows with a query. */
  compareSample(query: SampleQuery): Promise<readonly ComparedRow[]>;
  /** Compute the cosine similarity of candidates that this reader has found, in their order. */
  readCosines(vector: Float32Array, candidates: readonly Candidate[]): Promise<readonly number[]>;
  /** Read the passages of candidates that this reader has found, in their order. */
  readPassages<C extends Candidate>(candidates: readonly C[]): Promise<(C & Passage)[]>;
}

export interface LegOptions {
  readonly limit: number;
  /** Ids of the documents to search; null for all of the tables. */
  readonly documentIds: readonly string[] | null;
}

/** Text of a chunk, and its locator as JSON. */
export interface Passage {
  readonly text: string;
  readonly locator: string;
}

/** Chunk that one leg of a search found. */
export interface Candidate {
  readonly chunkId: string;
  readonly documentId: string;
  readonly generation: number;
  readonly chunkIndex: number;
  /** True for a table of contents, a menu or a running title. */
  readonly isBoilerplate: boolean;
  /** Cosine similarity on the vector leg, BM25 on the keyword leg; higher is better. */
  readonly score: number;
}

/** Query to compare a sample with. */
export interface SampleQuery {
  /** Float32Array [1024], L2-normalised; null if the query has no vector, or one that cannot be compared. */
  readonly vector: Float32Array | null;
  readonly terms: readonly string[];
}

/** Row of a sample after the comparison with a query. */
export interface ComparedRow {
  readonly documentId: string;
  /** Cosine similarity to the query; null if the query has no vector. */
  readonly cosine: number | null;
  /** Terms of the query that the row has. */
  readonly terms: ReadonlySet<string>;
}

/** Error of a reader whose tables changed in a way that it cannot follow. Repeat the search. */
export class ReaderGone extends Error {}
