import type { WeightedTerms } from '../language/analyser.ts';
import type { SpelledWord } from '../language/spelled-words.ts';
import type { Correction } from './keywords/correct-words.ts';

/** String column in Arrow's layout: UTF-8 bytes, the start of each string, and the end of the last one. */
export interface Utf8Column {
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
}

/** Rows of a LanceDB table, by column. */
export interface RowBatch {
  readonly count: number;
  readonly chunkIds: Utf8Column;
  readonly documentIds: Utf8Column;
  readonly generations: BigInt64Array;
  readonly chunkIndexes: Int32Array;
  readonly texts: Utf8Column;
  readonly tokens: Utf8Column;
  readonly locators: Utf8Column;
  /** 1 for a table of contents, a menu or a running title. */
  readonly boilerplate: Uint8Array;
  /** Float32Array [count x 1024], row-major. */
  readonly vectors: Float32Array;
}

/** Key of each row, independent of the file that holds it. */
export interface RowKeys {
  readonly generations: BigInt64Array;
  readonly chunkIndexes: Int32Array;
}

/** Search across several tables. */
export interface LegQuery {
  /** Numbers of the resident tables. */
  readonly tables: readonly number[];
  /** Ids of the documents to search; null for all. */
  readonly documentIds: readonly string[] | null;
  /** Maximum total number of rows. */
  readonly limit: number;
}

/** Search with a vector. */
export interface VectorQuery extends LegQuery {
  /** Float32Array [1024], of length 1 or all zeros. */
  readonly vector: Float32Array;
}

/** Search with terms. */
export interface KeywordQuery extends LegQuery {
  readonly terms: readonly WeightedTerms[];
  /** Replacement terms per table, by table number. */
  readonly ownTerms: ReadonlyMap<number, readonly WeightedTerms[]>;
  /** Query words that may be misspelled. */
  readonly words: readonly SpelledWord[];
  /** If true, replace them with the nearest words of each table. If false, only report those that no table contains. */
  readonly correct: boolean;
}

/** Rows found by a keyword search. */
export interface KeywordLeg {
  readonly rows: LegRows;
  /** Words that no table contains. */
  readonly misspelled: readonly SpelledWord[];
  readonly corrections: readonly Correction[];
}

/** Rows found by a leg, as columns, best first. */
export interface LegRows {
  /** Numbers of the resident tables, and of their rows. */
  readonly tables: Uint32Array;
  readonly rows: Uint32Array;
  readonly scores: Float64Array;
  readonly generations: Float64Array;
  readonly chunkIndexes: Int32Array;
  /** 1 for a table of contents, a menu or a running title. */
  readonly boilerplate: Uint8Array;
  readonly documentIds: readonly string[];
  readonly chunkIds: readonly string[];
}

/** Query to compare with all rows of a small table. */
export interface RowQuery {
  readonly table: number;
  /** Float32Array [1024]; null to compute no cosines. */
  readonly vector: Float32Array | null;
  readonly terms: readonly string[];
}

/** Result of comparing rows with a query, as columns. */
export interface ComparedColumns {
  readonly documentIds: readonly string[];
  readonly cosines: Float64Array | null;
  /** 1 for each query term that a row contains: Uint8Array [rows x terms], row-major. */
  readonly terms: Uint8Array;
}

/** Rows of resident tables, by table and row number. */
export interface RowPlaces {
  readonly tables: Uint32Array;
  readonly rows: Uint32Array;
}

/** Text of a row, with its locator as JSON. */
export interface RowText {
  readonly text: string;
  readonly locator: string;
}

/** Size of a resident table. */
export interface TableSize {
  readonly rows: number;
  readonly removedRows: number;
  readonly memoryBytes: number;
}

/** Operations of the thread that holds resident tables, with their argument and result types. */
export interface Operations {
  /** Create an empty table. `scratchIn` is the directory for the files of a large table; null keeps all in memory. */
  create: { argument: { table: number; scratchIn: string | null }; result: null };
  add: { argument: { table: number; batch: RowBatch }; result: TableSize };
  /** Find the positions of the keys that the table lacks. */
  findUnknown: { argument: { table: number; keys: RowKeys }; result: Uint32Array };
  /** Remove those of the first `rows` rows that have none of these keys. */
  keepOnly: { argument: { table: number; keys: RowKeys; rows: number }; result: TableSize };
  drop: { argument: { table: number }; result: null };
  searchKeywords: { argument: KeywordQuery; result: KeywordLeg };
  searchVectors: { argument: VectorQuery; result: LegRows };
  compareAll: { argument: RowQuery; result: ComparedColumns };
  /** Compute the cosine similarity of rows and a vector: Float32Array [1024]. */
  readCosines: { argument: RowPlaces & { vector: Float32Array }; result: Float64Array };
  /** Read the texts of rows; null for rows of dropped tables. */
  readTexts: { argument: RowPlaces; result: (RowText | null)[] };
}

export type OperationName = keyof Operations;

/** Operation with its argument, as sent to the thread. */
export interface Operation<Name extends OperationName = OperationName> {
  readonly name: Name;
  readonly argument: Operations[Name]['argument'];
}
