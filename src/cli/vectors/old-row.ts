/** Names of the columns to read, as the user gave them. */
export interface ColumnChoice {
  readonly idColumn?: string | undefined;
  readonly vectorColumn?: string | undefined;
  readonly textColumn?: string | undefined;
  /** Columns for the metadata. Undefined: one that is named `metadata`, if there is one. */
  readonly metadataColumns?: readonly string[] | undefined;
}

/** Row of an old index. */
export interface OldRow {
  readonly id: string;
  readonly vector: Float32Array;
  readonly text: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Place in the file, for messages: `line 4`, `row 17`. */
  readonly place: string;
}

/** File with vectors of an old index. */
export interface OldIndex {
  /** Description of the file for the user: its format, and the columns that are read. */
  readonly found: string;
  /** Number of rows; null if only reading the whole file tells it. */
  readonly total: number | null;
  /** Read the rows in their order. @throws AppError `invalid_request` that names the place of a fault */
  rows(): AsyncIterable<OldRow>;
}

export interface OldIndexOptions extends ColumnChoice {
  /** File whose lines describe the rows of a NumPy file. */
  readonly rows?: string | undefined;
  /** Table of a dump with several. */
  readonly table?: string | undefined;
  /** Names of the columns of a dump without a header. */
  readonly columns?: readonly string[] | undefined;
}
