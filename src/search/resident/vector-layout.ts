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
/** Starts of the parts of the numbers of 16 bits: the highest 4 bits of each, the middle 8, the lowest 4. */
export const HIGH_ROW_BYTES = INDEX_DIMENSIONS / 2;
export const MIDDLE_ROW_BYTES = INDEX_DIMENSIONS;
const MIDDLE_START = BLOCK_ROWS * HIGH_ROW_BYTES;
const LOW_START = MIDDLE_START + BLOCK_ROWS * MIDDLE_ROW_BYTES;
export const STEPS_START = BLOCK_ROWS * INDEX_DIMENSIONS * 2;
export const MARGINS_START = STEPS_START + BLOCK_ROWS * 4;
/** Bytes of a block before its upper bounds: 16 bits and two signs for each component, and six numbers for each row. */
const BOUNDS_START = BLOCK_ROWS * (INDEX_DIMENSIONS * 2 + INDEX_DIMENSIONS / 4 + 24);
/** Start of the last of them: product of the stored vector with the centre of its table. */
export const OFFSETS_START = BOUNDS_START - BLOCK_ROWS * 4;
export const BLOCK_BYTES = BOUNDS_START + QUERY_SLOTS * BLOCK_ROWS * 4;

/** Bytes of a row that a sketched block leaves out: all but the highest 4 bits. */
export const REST_BYTES = MIDDLE_ROW_BYTES + HIGH_ROW_BYTES;
/** Rows of a sketch: many, so that what is read for all rows lies together. */
export const SKETCHED_ROWS = 2_048;
/**
 * Starts of the parts of a sketch, which follow the signs of the components [1024 x 256 bytes]: bits of the rows that are
 * written and of those that a search may find [256 bytes] each, counts of signs [8 x 2048 bytes] of eight queries, in planes as
 * in `kernel/sketches.as.ts`, and scratch space of the thread that counts.
 */
export const WRITTEN_START = (SKETCHED_ROWS * INDEX_DIMENSIONS) / 8;
export const ALLOWED_START = WRITTEN_START + SKETCHED_ROWS / 8;
const PLANES_START = ALLOWED_START + SKETCHED_ROWS / 8;
export const SCRATCH_START = PLANES_START + QUERY_SLOTS * SKETCHED_ROWS;
export const SKETCH_BYTES = SCRATCH_START + 128;
/**
 * Starts of the parts of a sketched block of as many rows, which follow the highest 4 bits: steps, margins and offsets f32 [2048]
 * each, and the sketch of the rows.
 */
export const SKETCHED_STEPS_START = SKETCHED_ROWS * HIGH_ROW_BYTES;
export const SKETCHED_MARGINS_START = SKETCHED_STEPS_START + SKETCHED_ROWS * 4;
export const SKETCHED_OFFSETS_START = SKETCHED_MARGINS_START + SKETCHED_ROWS * 4;
export const SKETCH_START = SKETCHED_OFFSETS_START + SKETCHED_ROWS * 4;
export const SKETCHED_BLOCK_BYTES = SKETCH_START + SKETCH_BYTES;
/** Largest count of signs of a row that are those of the query. */
export const SIGNS_COUNTED = 192;
/** Alignment of sketches and sketched blocks, whose parts begin with a page of memory. */
export const SKETCHED_ALIGNMENT = 4_096;

/** Random signs of the rotations: f32 [2 x 1024]. */
export const SIGNS = 0;
export const WORK = SIGNS + 2 * VECTOR_BYTES;
const SLOTS = WORK + VECTOR_BYTES;
/** Start of the list of the components whose signs are counted: after the rotated query, the quantised one and its tables. */
const COMPONENTS_START = VECTOR_BYTES + INDEX_DIMENSIONS + 64 + (INDEX_DIMENSIONS / 4) * 16;
const SLOT_BYTES = COMPONENTS_START + SIGNS_COUNTED * 4;
/** Upper bounds of some rows, and the margins in them; numbers of rows; addresses of the parts that the rows are in. */
export const SOME_BOUNDS = SLOTS + QUERY_SLOTS * SLOT_BYTES;
export const SOME_MARGINS = SOME_BOUNDS + (SKETCHED_ROWS + 4) * 4;
export const LIST = SOME_MARGINS + (SKETCHED_ROWS + 4) * 4;
export const PARTS = LIST + SKETCHED_ROWS * 4;
export const BLOCKS_START = PARTS + (SKETCHED_ROWS / BLOCK_ROWS) * 8;

/** Rows whose cosines are best computed at once: their 2 KiB each stay in the first-level cache. */
export const REFINED_TOGETHER = 8;

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

/** Address of the list of the components whose signs are counted for a slot: u32 [192]. */
export function componentsOf(slot: number): number {
  return queryOf(slot) + COMPONENTS_START;
}

/** Address of the counts of signs of the rows of a sketch for a slot. */
export function planesOf(sketch: number, slot: number): number {
  return sketch + PLANES_START + slot * SKETCHED_ROWS;
}

/** Addresses of the parts of a row of a block, with their bytes. */
export function partsOf(
  block: number,
  row: number,
): { readonly high: number; readonly middle: number; readonly low: number } {
  return {
    high: block + row * HIGH_ROW_BYTES,
    middle: block + MIDDLE_START + row * MIDDLE_ROW_BYTES,
    low: block + LOW_START + row * HIGH_ROW_BYTES,
  };
}
