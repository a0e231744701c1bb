import type { WeightedTerms } from '../language/analyser.ts';
import type { SpelledWord } from '../language/spelled-words.ts';
import type { Correction } from './keywords/correct-words.ts';

/** Column of strings in Arrow's layout: the UTF-8 bytes, the start of each string, and the end of the last. */
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

/** Fields that identify a row of a table in whichever file it is. */
export interface RowKeys {
  readonly generations: BigInt64Array;
  readonly chunkIndexes: Int32Array;
}

/** Search over several tables as one. */
export interface LegQuery {
  /** Numbers of the resident tables. */
  readonly tables: readonly number[];
  /** Ids of the documents to search; null: all of them. */
  readonly documentIds: readonly string[] | null;
  /** Largest number of rows altogether. */
  readonly limit: number;
}

/** Search with a vector. */
export interface VectorQuery extends LegQuery {
  /** Float32Array [1024], of length 1 or zero. */
  readonly vector: Float32Array;
}

/** Search with terms. */
export interface KeywordQuery extends LegQuery {
  readonly terms: readonly WeightedTerms[];
  /** Terms that replace them in a table, by the number of the table. */
  readonly ownTerms: ReadonlyMap<number, readonly WeightedTerms[]>;
  /** Words of the query that may be misspelled. */
  readonly words: readonly SpelledWord[];
  /** If true, replace them by the nearest words of each table. If false, only report which of them no table has. */
  readonly correct: boolean;
}

/** Rows that a search with terms found. */
export interface KeywordLeg {
  readonly rows: LegRows;
  /** Words that no table has. */
  readonly misspelled: readonly SpelledWord[];
  readonly corrections: readonly Correction[];
}

/** Rows that a leg found, as columns, best first. */
export interface LegRows {
  /** Numbers of the resident tables, and of the rows in them. */
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

/** Query to compare all rows of a small table with. */
export interface RowQuery {
  readonly table: number;
  /** Float32Array [1024]; null: the rows have no cosines. */
  readonly vector: Float32Array | null;
  readonly terms: readonly string[];
}

/** Rows that were compared with a query, as columns. */
export interface ComparedColumns {
  readonly documentIds: readonly string[];
  readonly cosines: Float64Array | null;
  /** 1 for each term of the query that a row has: Uint8Array [rows x terms], row-major. */
  readonly terms: Uint8Array;
}

/** Rows of resident tables, by the numbers of both. */
export interface RowPlaces {
  readonly tables: Uint32Array;
  readonly rows: Uint32Array;
}

/** Text of a row, and its locator as JSON. */
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

/** Operations of the thread that holds resident tables, with the type of argument and of result. */
export interface Operations {
  /** Make an empty table. `scratchIn` is the directory for the files of a large table; null keeps all in memory. */
  create: { argument: { table: number; scratchIn: string | null }; result: null };
  add: { argument: { table: number; batch: RowBatch }; result: TableSize };
  /** Find the positions of the keys that the table does not have. */
  findUnknown: { argument: { table: number; keys: RowKeys }; result: Uint32Array };
  /** Among the first `rows` rows, remove all that do not have one of these keys. */
  keepOnly: { argument: { table: number; keys: RowKeys; rows: number }; result: TableSize };
  drop: { argument: { table: number }; result: null };
  searchKeywords: { argument: KeywordQuery; result: KeywordLeg };
  searchVectors: { argument: VectorQuery; result: LegRows };
  compareAll: { argument: RowQuery; result: ComparedColumns };
  /** Compute the cosine similarity of rows to a vector: Float32Array [1024]. */
  readCosines: { argument: RowPlaces & { vector: Float32Array }; result: Float64Array };
  /** Read the texts of rows; null for a row of a table that no longer exists. */
  readTexts: { argument: RowPlaces; result: (RowText | null)[] };
}

export type OperationName = keyof Operations;

/** An operation with its argument, as it is sent to the thread. */
export interface Operation<Name extends OperationName = OperationName> {
  readonly name: Name;
  readonly argument: Operations[Name]['argument'];
}
