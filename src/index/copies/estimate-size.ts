import { statfsSync } from 'node:fs';

/** Estimated memory per row of a small table, which keeps whole vectors. */
const ROW_BYTES = 6_000;
/** Estimated memory per row of a large table, and its fixed memory. */
const LARGE_ROW_BYTES = 850;
const LARGE_TABLE_BYTES = 1024 * 1024;
/** Estimated disk space per row of a large table, and the space that its files must leave free. */
const LARGE_ROW_DISK_BYTES = 3_000;
const FREE_BYTES_MIN = 256 * 1024 ** 2;

/** Estimate the memory of a table with this number of rows. */
export function estimateBytes(rows: number, isLarge: boolean): number {
  return isLarge ? LARGE_TABLE_BYTES + rows * LARGE_ROW_BYTES : rows * ROW_BYTES;
}

/** Return true if the files of a large table with this number of rows leave enough free space on their disk. */
export function hasDiskFor(rows: number, directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize > rows * LARGE_ROW_DISK_BYTES + FREE_BYTES_MIN;
}
