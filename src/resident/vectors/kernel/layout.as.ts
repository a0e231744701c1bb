/** Sizes that the parts of the kernel share. This is AssemblyScript, compiled with rows.as.ts. */

export const dimensions: usize = 1024;
/** Square root of `dimensions`. */
export const dimensionsRoot: f32 = 32;
export const highRowBytes: usize = 512;
/** Rows of a block. */
const blockRows: usize = 2048;
/** Places of the margins and of the offsets of the rows of a block, behind their steps. */
export const marginsAfter: usize = blockRows * 4;
export const offsetsAfter: usize = blockRows * 8;

/** Standard deviations of the error of an estimate that a margin covers. */
export const deviations: f32 = 5;
