import { statfsSync } from 'node:fs';

/** Estimate of the memory of each row of a small table, which has whole vectors, before it is read. */
const ROW_BYTES = 6_000;
/** The same for a large table, and what it takes besides. */
const LARGE_ROW_BYTES = 850;
const LARGE_TABLE_BYTES = 1024 * 1024;
/** Estimate of the disk space of each row of a large table, and space that its files must leave to others. */
const LARGE_ROW_DISK_BYTES = 3_000;
const FREE_BYTES_MIN = 256 * 1024 ** 2;

/** Estimate the memory of a table of so many rows. */
export function estimateBytes(rows: number, isLarge: boolean): number {
  return isLarge ? LARGE_TABLE_BYTES + rows * LARGE_ROW_BYTES : rows * ROW_BYTES;
}

/** Return true if the files of a large table of so many rows leave enough space on their disk. */
export function hasDiskFor(rows: number, directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize > rows * LARGE_ROW_DISK_BYTES + FREE_BYTES_MIN;
}
