export interface TableName {
  /** PostgreSQL schema, MySQL database, or `main` in SQLite. */
  readonly schema: string;
  readonly table: string;
}

export interface Column {
  readonly name: string;
  /** SQL type, from the catalog. */
  readonly type: string;
}

export interface TableDescription {
  readonly columns: readonly Column[];
  readonly primaryKey: readonly string[];
  readonly isReadable: boolean;
}

/** Rows of a source, with names confirmed by the catalog. */
export interface RowQuery extends TableName {
  readonly key: readonly Column[];
  /** Columns that make up a document. */
  readonly columns: readonly string[];
  readonly updatedAt: string | null;
  readonly eventTime: string | null;
  /** Columns with the values that a row must have. */
  readonly where: readonly (Column & { readonly value: string })[];
}

export interface ListedRow {
  readonly key: readonly string[];
  readonly version: string;
  /** Size of the columns as text; if the values weren't read, their stored and possibly compressed size. */
  readonly sizeBytes: number;
}

export interface TableRow extends ListedRow {
  /** Values as text by column; null if the row exceeds the size limit. */
  readonly values: Readonly<Record<string, string | null>> | null;
  readonly eventTimeMs: number | null;
}

/** Database whose tables and views can be sources. Every call may throw a SourceFault. */
export interface TableDatabase {
  /** Check the connection, and describe a table or view. Return null if it doesn't exist. */
  describe(name: TableName, signal: AbortSignal): Promise<TableDescription | null>;
  /** Return true for a column type that includes a time. */
  isTime(type: string): boolean;
  /** List a page of rows in key order, starting after the key `after`. */
  list(
    query: RowQuery,
    after: readonly string[] | null,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly ListedRow[]>;
  /** Read rows by key. Describe a row of more than `bytesMax` without its values. */
  read(
    query: RowQuery,
    keys: readonly (readonly string[])[],
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<readonly TableRow[]>;
  close(): Promise<void>;
}
