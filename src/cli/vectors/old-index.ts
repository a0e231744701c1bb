import path from 'node:path';
import { AppError, invalidRequest } from '../../platform/errors.ts';
import { isRefusal } from '../../platform/file-refusal.ts';
import { fileError } from '../read-lines.ts';
import type { OldIndex, OldIndexOptions } from './old-row.ts';

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
