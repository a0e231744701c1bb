/** Columns to read, as named by the user. */
export interface ColumnChoice {
  readonly idColumn?: string | undefined;
  readonly vectorColumn?: string | undefined;
  readonly textColumn?: string | undefined;
  /** Columns for the metadata; undefined for a column named `metadata`, if there is one. */
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
  /** Description of the file for the user: its format and the columns to read. */
  readonly found: string;
  /** Number of rows; null if unknown before reading the whole file. */
  readonly total: number | null;
  /** Read the rows in order. @throws AppError `invalid_request` that names the place of a fault */
  rows(): AsyncIterable<OldRow>;
}

export interface OldIndexOptions extends ColumnChoice {
  /** File of JSON lines that describe the rows of a NumPy file. */
  readonly rows?: string | undefined;
  /** Table to read from a dump with several. */
  readonly table?: string | undefined;
  /** Column names of a dump without a header. */
  readonly columns?: readonly string[] | undefined;
}
