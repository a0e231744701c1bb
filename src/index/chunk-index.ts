import type { Locator } from '../documents/locator.ts';
import type { WeightedTerms } from '../language/analyser.ts';
import type { SpelledWord } from '../language/spelled-words.ts';
import type { Correction } from '../resident/keywords/correct-words.ts';

/** Options for settling a table. */
export interface SettleOptions {
  /** Signal that stops the work early. The table stays usable. */
  readonly signal?: AbortSignal;
  /** True if other work waits for the settling, which then runs at normal priority. */
  readonly isUrgent?: boolean;
}

/**
 * The chunk index: one table per bucket, with the vectors, terms and texts of its chunks. `ChunkIndex` is the port to
 * the storage engine. Every driver passes the suite `test/conformance/chunk-index.ts`. All content can be rebuilt from
 * PostgreSQL and the object store. Tables don't know callers: PostgreSQL decides who may see a chunk.
 */
export interface ChunkIndex {
  /**
   * Open tables for one search, each at its version or a newer one. Skip tables that don't exist.
   *
   * The search finds every chunk of those versions. For a few seconds it may also find removed chunks.
   *
   * @returns null if none of the tables exists
   * @throws AppError `index_unavailable` (503)
   */
  open(tables: readonly TableVersion[], options?: ReadOptions): Promise<ChunkReader | null>;

  /** Return statistics of a table, or null if it doesn't exist. */
  statistics(table: TableVersion): Promise<TableStatistics | null>;

  /** Read the first chunks of documents, in any order. */
  readChunks(table: TableVersion, wanted: FirstChunks): Promise<StoredChunks>;

  /** Read the terms of the chunks of generations, in any order. */
  readTokens(table: TableVersion, generations: readonly number[]): AsyncIterable<ChunkTokens>;

  /** Read complete chunks of generations with their vectors, in bounded batches and in any order. */
  readGenerations(table: TableVersion, generations: readonly number[]): AsyncIterable<IndexedGeneration>;

  /** Count the chunks per generation in the latest version of a table. */
  countByGeneration(table: string): Promise<Map<number, number>>;

  /** Return the latest version of a table. */
  version(table: string): Promise<number>;

  /**
   * Append the chunks of generations atomically. Create the table if it doesn't exist.
   *
   * The caller must be the only writer of the table, here and in every other writing method. A writer that lost its
   * lock without noticing may still append. PostgreSQL doesn't know the generation of those chunks, and a sweep removes
   * them.
   *
   * @throws AppError `index_unavailable`, `storage_full` (503)
   */
  append(table: string, generations: readonly IndexedGeneration[], options?: WriteOptions): Promise<TableState>;

  /** Remove all chunks of the selected documents and generations. */
  remove(table: string, selection: ChunkSelection, options?: WriteOptions): Promise<TableState>;

  /** Copy the chunks of generations from one table to another. */
  copyGenerations(from: TableVersion, to: string, generations: readonly number[]): Promise<void>;

  /**
   * Merge the files of small appends, and bring the search indexes of a table up to date.
   *
   * @throws AppError `settle_failed` (503, retryable), which leaves the table usable; `index_unavailable`,
   *   `storage_full`; the reason of the signal
   */
  settle(table: string, options?: SettleOptions): Promise<TableState>;

  /** Build the search indexes of a new table without merging its files. Searches are then as fast as after `settle`. */
  prepareForSearches(table: string): Promise<TableState>;

  /**
   * Start building the search indexes of a new table before its last rows are appended.
   *
   * @param rows final number of rows of the table
   * @param withLock runs work while no table of the bucket can be dropped
   */
  buildAhead(table: string, rows: number, withLock: (work: () => Promise<void>) => Promise<void>): BuildAhead;

  /**
   * Erase removed chunks from the storage, including any copies that the engine keeps.
   *
   * @param publish announces the version without these chunks to readers. Older versions are deleted after it returns
   */
  expunge(table: string, options: WriteOptions & { publish(state: TableState): Promise<void> }): Promise<void>;

  /** Drop a table if it exists. */
  drop(table: string): Promise<void>;

  /** Drop every table whose name is the bucket's id, or starts with it and `_`. */
  dropAll(bucketId: string): Promise<void>;

  /** Handle the publication of a version: bring copies of the table up to date. */
  notePublished(table: TableVersion): void;

  /** Check that the engine answers. @throws AppError `index_unavailable` (503) */
  probe(): Promise<void>;

  /** Probe the engine again if the last probe failed. @throws AppError `index_unavailable` (503) */
  requireReach(): Promise<void>;

  /** Await work while the engine keeps answering. @throws AppError `index_unavailable` (503) */
  whileReached<T>(work: Promise<T>): Promise<T>;

  close(): Promise<void>;
}

/** Version of a table, as recorded in PostgreSQL. Every commit creates a version with a higher number. */
export interface TableVersion {
  readonly name: string;
  readonly version: number;
}

export interface ReadOptions {
  /** Replacement query terms per table, by table name. */
  readonly ownTerms?: ReadonlyMap<string, readonly WeightedTerms[]>;
  /** Query words to correct if no table contains them. A driver may ignore them. */
  readonly spelled?: readonly SpelledWord[];
}

export interface WriteOptions {
  /** Callback right before the commit. It throws if the writer has lost its lock. */
  readonly requireLock?: () => Promise<void>;
  /** Callback for a commit that takes effect after the write was reported as failed. */
  readonly onLate?: () => void;
}

/** State of a table after a write. */
export interface TableState extends TableVersion {
  /** Number of data files or segments. */
  readonly fragments: number;
  /** Number of rows that the keyword index doesn't include yet. */
  readonly unindexedRows: number;
  /** True if the table must be settled before the next write. */
  readonly isDueToSettle: boolean;
}

export interface TableStatistics {
  /** Number of rows, including rows that have yet to be removed. */
  readonly rows: number;
  readonly fragments: number;
  readonly smallFragments: number;
  readonly unindexedRows: number;
}

export interface BuildAhead {
  /** Report the number of rows written, and start building the indexes that are due. */
  written(rows: number): void;
  /** Wait for index builds in progress. If one failed, settling the table builds that index. */
  finish(): Promise<void>;
}

/** Chunk in the index. */
export interface IndexedChunk {
  readonly chunkId: string;
  readonly documentId: string;
  readonly generation: number;
  readonly collectionId: string | null;
  readonly chunkIndex: number;
  readonly text: string;
  /** Analysed text: terms separated by spaces. */
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

/** Selection of chunks that belong to any of these documents or generations. */
export interface ChunkSelection {
  readonly documentIds: readonly string[];
  readonly generations: readonly number[];
}

/** Chunk as read from a table. */
export type StoredChunk = Pick<IndexedChunk, 'chunkId' | 'documentId' | 'generation' | 'chunkIndex' | 'text'>;

/** First chunks of documents (index below `perDocument`), at most `limit` in total. */
export interface FirstChunks {
  readonly documentIds: readonly string[];
  readonly perDocument: number;
  readonly limit: number;
}

export interface StoredChunks {
  readonly chunks: readonly StoredChunk[];
  /** Float32Array [n x 1024], row-major, in the order of the chunks; owned by the caller. */
  readonly vectors: Float32Array<ArrayBuffer>;
}

export type ChunkTokens = Pick<IndexedChunk, 'generation' | 'chunkIndex' | 'tokens'>;

/** Reader of all tables of one search, for both legs. */
export interface ChunkReader {
  /** Find the nearest chunks by cosine similarity, best first. `vector`: Float32Array [1024], L2-normalised. */
  searchVectors(vector: Float32Array, options: LegOptions): Promise<readonly Candidate[]>;
  /** Find chunks by BM25 over analysed text, best first. `terms`: the query after `analyse` and `weighTerms`. */
  searchKeywords(terms: readonly WeightedTerms[], options: LegOptions): Promise<readonly Candidate[]>;
  /** Return the corrections that the last keyword search made. */
  corrections(): readonly Correction[];
  /** Compare a sample of the rows with a query. */
  compareSample(query: SampleQuery): Promise<readonly ComparedRow[]>;
  /** Compute the cosine similarity of candidates of this reader, in their order. */
  readCosines(vector: Float32Array, candidates: readonly Candidate[]): Promise<readonly number[]>;
  /** Read the passages of candidates of this reader, in their order. */
  readPassages<C extends Candidate>(candidates: readonly C[]): Promise<(C & Passage)[]>;
}

export interface LegOptions {
  readonly limit: number;
  /** Ids of the documents to search; null for all documents of the tables. */
  readonly documentIds: readonly string[] | null;
}

/** Text of a chunk, with its locator as JSON. */
export interface Passage {
  readonly text: string;
  readonly locator: string;
}

/** Chunk found by one leg. */
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

/** Query to compare with a sample. */
export interface SampleQuery {
  /** Float32Array [1024], L2-normalised; null if the query has no vector or an incomparable one. */
  readonly vector: Float32Array | null;
  readonly terms: readonly string[];
}

/** Row of a sample, compared with a query. */
export interface ComparedRow {
  readonly documentId: string;
  /** Cosine similarity to the query; null if the query has no vector. */
  readonly cosine: number | null;
  /** Query terms that occur in the row. */
  readonly terms: ReadonlySet<string>;
}

/** Error thrown if tables changed so that a reader can't follow. Repeat the search. */
export class ReaderGone extends Error {}
