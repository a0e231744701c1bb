import { statfsSync } from 'node:fs';
import { FEW_ROWS } from './vector-rows.ts';

/** Estimate of the memory of a table, and of each row, before it is read; a table of few rows has whole vectors. */
const TABLE_BYTES = 1024 * 1024;
const ROW_BYTES = 3_000;
const FEW_ROW_BYTES = 6_000;
const LARGE_ROW_BYTES = 850;
/** Estimate of the disk space of each row of a large table, and space that its files must leave to others. */
const LARGE_ROW_DISK_BYTES = 3_000;
const FREE_BYTES_MIN = 1024 ** 3;

/** Estimate the memory of a table of so many rows. */
export function estimateBytes(rows: number, isLarge: boolean): number {
  if (rows <= FEW_ROWS) return rows * FEW_ROW_BYTES;
  return TABLE_BYTES + rows * (isLarge ? LARGE_ROW_BYTES : ROW_BYTES);
}

/** Return true if the files of a large table of so many rows leave enough space on their disk. */
export function hasDiskFor(rows: number, directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize > rows * LARGE_ROW_DISK_BYTES + FREE_BYTES_MIN;
}
