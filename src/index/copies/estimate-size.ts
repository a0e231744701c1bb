import { statfsSync } from 'node:fs';

/** Estimated memory per row of a small table, which holds full vectors. */
const ROW_BYTES = 6_000;
/** Estimated memory of a large table, per row and fixed. */
const LARGE_ROW_BYTES = 850;
const LARGE_TABLE_BYTES = 1024 * 1024;
/** Estimated disk space per row of a large table, and the minimum free space to leave. */
const LARGE_ROW_DISK_BYTES = 3_000;
const FREE_BYTES_MIN = 256 * 1024 ** 2;

/** Estimate the memory of a table with `rows` rows. */
export function estimateBytes(rows: number, isLarge: boolean): number {
  return isLarge ? LARGE_TABLE_BYTES + rows * LARGE_ROW_BYTES : rows * ROW_BYTES;
}

/** Return true if a large table with `rows` rows leaves enough free space on the disk. */
export function hasDiskFor(rows: number, directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize > rows * LARGE_ROW_DISK_BYTES + FREE_BYTES_MIN;
}
