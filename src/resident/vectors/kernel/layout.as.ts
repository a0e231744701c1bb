/** Sizes that all files of the kernel use. This is AssemblyScript, compiled with rows.as.ts. */

export const dimensions: usize = 1024;
/** Square root of `dimensions`. */
export const dimensionsRoot: f32 = 32;
export const highRowBytes: usize = 512;
/** Number of rows of a block. */
const blockRows: usize = 2048;
/** Distances in bytes from the steps of a block's rows to their margins and offsets. */
export const marginsAfter: usize = blockRows * 4;
export const offsetsAfter: usize = blockRows * 8;

/** Number of standard deviations of the estimation error that a margin covers. */
export const deviations: f32 = 5;
