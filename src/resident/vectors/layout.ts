import { INDEX_DIMENSIONS } from '../../projection/resize.ts';

/**
 * Byte addresses in the memory of the row kernel: work areas of one search, followed by the blocks.
 * `kernel/layout.as.ts` and `kernel/sketches.as.ts` (`counted`) repeat some of these sizes. Change them together.
 */

export const VECTOR_BYTES = INDEX_DIMENSIONS * 4;
/** Bytes per row of the highest 4 bits. */
export const HIGH_BYTES = INDEX_DIMENSIONS / 2;
/** Bytes per row of the remaining bits: the middle 8 and the lowest 4. */
export const REST_BYTES = INDEX_DIMENSIONS + INDEX_DIMENSIONS / 2;
/** Rows per block: many, so that the signs of one component are contiguous. */
export const BLOCK_ROWS = 2_048;
/** Number of counted component signs: those of the query's 96 largest and 96 smallest components. */
export const SIGNS_COUNTED = 192;

/** Random signs of the rotation: f32 [2 x 1024]. */
export const SIGNS = 0;
/** Rotated vector: f32 [1024]. */
export const WORK = SIGNS + 2 * VECTOR_BYTES;
/** Rotated query: f32 [1024]. */
export const QUERY = WORK + VECTOR_BYTES;
/** Quantised query: i8 [1024] and f32 [4]. */
export const QUERY_BYTES = QUERY + VECTOR_BYTES;
/** Components whose signs are counted: u32 [192]. */
export const COMPONENTS = QUERY_BYTES + INDEX_DIMENSIONS + 64;
export const SCRATCH = COMPONENTS + SIGNS_COUNTED * 4;
/** Step and margin of the row being encoded: f32 [2]. */
export const SCALES = SCRATCH + 128;
/** Remaining bits of one row. */
export const REST = SCALES + 64;
/** Row numbers within a block, listed for an estimate: u32 [2048]. */
export const LIST = REST + REST_BYTES;
/** Upper bounds of the listed rows, and the margins that they include: f32 [2048] each, with spare room. */
export const BOUNDS = LIST + BLOCK_ROWS * 4;
export const MARGINS = BOUNDS + (BLOCK_ROWS + 4) * 4;
const WORK_END = MARGINS + (BLOCK_ROWS + 4) * 4;

/** Parts of a block that follow the highest 4 bits of its rows: f32 [2048] each. */
export const STEPS_START = BLOCK_ROWS * HIGH_BYTES;
export const MARGINS_START = STEPS_START + BLOCK_ROWS * 4;
export const OFFSETS_START = MARGINS_START + BLOCK_ROWS * 4;
/** Signs of the rows, by component: bits [1024 x 2048]. */
export const SKETCH_START = OFFSETS_START + BLOCK_ROWS * 4;
/** Bits of the written rows, and of the rows that a search may return: [2048] each. */
export const WRITTEN_START = SKETCH_START + (BLOCK_ROWS * INDEX_DIMENSIONS) / 8;
export const ALLOWED_START = WRITTEN_START + BLOCK_ROWS / 8;
/** Sign agreement counts per row, in planes as in `kernel/sketches.as.ts`. */
export const PLANES_START = ALLOWED_START + BLOCK_ROWS / 8;
export const BLOCK_BYTES = PLANES_START + BLOCK_ROWS;

/** Start of the blocks, at the beginning of a memory page. */
export const BLOCK_ALIGNMENT = 4_096;
export const BLOCKS_START = Math.ceil(WORK_END / BLOCK_ALIGNMENT) * BLOCK_ALIGNMENT;
