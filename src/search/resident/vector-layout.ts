import { INDEX_DIMENSIONS } from '../../projection/resize.ts';

/**
 * Addresses in the memory of a scan kernel, in bytes: what all blocks share comes first, then the blocks, whose layout is
 * that of `kernel/layout.as.ts`.
 */

export const VECTOR_BYTES = INDEX_DIMENSIONS * 4;
/** Rows of a block. */
export const BLOCK_ROWS = 256;
/** Queries that can be set at a time. */
export const QUERY_SLOTS = 8;
export const MARGINS_START = BLOCK_ROWS * (INDEX_DIMENSIONS * 2 + 4);
/** Bytes of a block before its upper bounds: 16 bits and two signs for each component, and five numbers for each row. */
const BOUNDS_START = BLOCK_ROWS * (INDEX_DIMENSIONS * 2 + INDEX_DIMENSIONS / 4 + 20);
export const BLOCK_BYTES = BOUNDS_START + QUERY_SLOTS * BLOCK_ROWS * 4;

/** Random signs of the rotations: f32 [2 x 1024]. */
export const SIGNS = 0;
export const WORK = SIGNS + 2 * VECTOR_BYTES;
const SLOTS = WORK + VECTOR_BYTES;
/** Bytes of a query: rotated, then quantised with numbers of its own, and tables of 16 bytes for four components. */
const SLOT_BYTES = VECTOR_BYTES + INDEX_DIMENSIONS + 64 + (INDEX_DIMENSIONS / 4) * 16;
/** Upper bounds of some rows, and numbers of rows. */
export const SOME_BOUNDS = SLOTS + QUERY_SLOTS * SLOT_BYTES;
export const LIST = SOME_BOUNDS + BLOCK_ROWS * 4;
export const BLOCKS_START = LIST + BLOCK_ROWS * 4;

/** Address of the rotated query of a slot: f32 [1024]. */
export function queryOf(slot: number): number {
  return SLOTS + slot * SLOT_BYTES;
}

/** Address of the quantised query of a slot. */
export function bytesOf(slot: number): number {
  return queryOf(slot) + VECTOR_BYTES;
}

/** Address of the upper bounds of the rows of a block for a slot: f32 [256]. */
export function boundsOf(block: number, slot: number): number {
  return block + BOUNDS_START + slot * BLOCK_ROWS * 4;
}
