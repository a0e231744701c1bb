import path from 'node:path';
import { AppError, invalidRequest } from '../../platform/errors.ts';
import { isRefusal } from '../../platform/file-refusal.ts';
import { fileError } from '../read-lines.ts';
import type { ColumnChoice } from './choose-columns.ts';

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
  /** What was found in the file: its format, and the columns that are read. */
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

/**
 * Open a file with vectors: NumPy (.npy), Parquet (.parquet), JSON lines (.jsonl, .ndjson), or a dump of PostgreSQL in
 * its COPY text format (any other name).
 *
 * @throws AppError `file_not_found` (404), `file_unreadable` (403), `invalid_request` (400) for a file of another kind
 */
export async function openOldIndex(file: string, options: OldIndexOptions): Promise<OldIndex> {
  try {
    const extension = path.extname(file).toLowerCase();
    if (extension === '.npy') return await (await import('./numpy.ts')).openNumpy(file, options);
    if (options.rows !== undefined) throw invalidRequest('rows: only a NumPy file needs a file of rows', 'rows');
    if (extension === '.parquet') return await (await import('./parquet.ts')).openParquet(file, options);
    if (extension === '.jsonl' || extension === '.ndjson') {
      return await (await import('./json-rows.ts')).openJsonRows(file, options);
    }
    return await (await import('./copy-text.ts')).openCopyText(file, options);
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (isRefusal(error) || (error as NodeJS.ErrnoException).code !== undefined) throw fileError(file, error);
    throw invalidRequest(`${file}: ${(error as Error).message}`, 'vectors');
  }
}
