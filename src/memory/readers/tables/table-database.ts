export interface TableName {
  /** Schema of PostgreSQL, or database of MySQL; `main` in SQLite. */
  readonly schema: string;
  readonly table: string;
}

export interface Column {
  readonly name: string;
  /** Type in SQL syntax, from the catalog. */
  readonly type: string;
}

export interface TableDescription {
  readonly columns: readonly Column[];
  readonly primaryKey: readonly string[];
  readonly isReadable: boolean;
}

/** Rows of a source, by names that were found in the catalog. */
export interface RowQuery extends TableName {
  readonly key: readonly Column[];
  /** Columns that form a document. */
  readonly columns: readonly string[];
  readonly updatedAt: string | null;
  readonly eventTime: string | null;
  /** Columns with the values that rows must match. */
  readonly where: readonly (Column & { readonly value: string })[];
}

export interface ListedRow {
  readonly key: readonly string[];
  readonly version: string;
  /** Size of the columns as text. If the values were not read, their stored size, possibly compressed. */
  readonly sizeBytes: number;
}

export interface TableRow extends ListedRow {
  /** Values as text by column; null if the row is larger than the bound. */
  readonly values: Readonly<Record<string, string | null>> | null;
  readonly eventTimeMs: number | null;
}

/** Database whose tables and views can be sources. Every call may throw a SourceFault. */
export interface TableDatabase {
  /** Check the connection and describe a table or view. Return null if it does not exist. */
  describe(name: TableName, signal: AbortSignal): Promise<TableDescription | null>;
  /** Return true for a column type that has a time. */
  isTime(type: string): boolean;
  /** List a page of rows in key order, after the row with the key `after`. */
  list(
    query: RowQuery,
    after: readonly string[] | null,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly ListedRow[]>;
  /** Read rows by their keys. Describe a row of more than `bytesMax` without its values. */
  read(
    query: RowQuery,
    keys: readonly (readonly string[])[],
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<readonly TableRow[]>;
  close(): Promise<void>;
}
